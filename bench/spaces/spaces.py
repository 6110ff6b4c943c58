#!/usr/bin/env python3
"""Records the tuning space of a kernel of spaces.cu on this machine's GPU, in the form that
`ringmaster bench tuner --space` reads: every configuration is compiled, checked against another
one's output and launched five times, of which the last four count.

  bench/spaces/spaces.py stencil|matrix|nbody FILE.csv

It needs cupy and cuda-bindings. 4,000 configurations take about a minute on 16 cores.
"""
import itertools
import multiprocessing
import os
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spaces.cu")
STEPS = 12  # of a stencil; the time is that of all of them


def stencil():
    yield "BX BY TLX TLY TT SP UN".split()
    for c in itertools.product((16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32), (1, 2, 4), (1, 2, 4),
                               (1, 2, 3, 4, 6), (0, 1), (0, 1)):
        bx, by, tlx, tly, tt, _, unroll = c
        if 32 <= bx * by <= 1024 and bx * tlx * by * tly <= 16384 and (tt > 1 or not unroll):
            yield c


def matrix():
    yield "BM BN BK TX TY VWM VWN SA SB".split()
    for c in itertools.product((16, 32, 64, 128), (16, 32, 64, 128), (16, 32), (8, 16, 32), (8, 16, 32),
                               (1, 2, 4), (1, 2, 4), (0, 1), (0, 1)):
        bm, bn, _, tx, ty, vm, vn, _, _ = c
        if (bm % (tx * vm) == 0 and bn % (ty * vn) == 0 and tx * ty >= 64 and 2 <= bm // tx * (bn // ty) <= 64
                and {vm, vn} != {2, 4} and bm + bn > 32):
            yield c


def nbody():
    yield "BX OUT IN STRIDE AOS SM TL".split()
    for c in itertools.product((32, 64, 96, 128, 192, 256, 384, 512, 768, 1024), (1, 2, 3, 4, 6, 8), (1, 4, 8, 32),
                               (0, 1), (0, 1), (0, 1), (1, 2, 4)):
        bx, out, _, stride, _, shared, tl = c
        if (SIZES["nbody"] % (bx * out) == 0 and SIZES["nbody"] % (bx * tl) == 0 and (shared or tl == 1)
                and (out > 1 or not stride)):
            yield c


KERNELS = {"stencil": stencil, "matrix": matrix, "nbody": nbody}
SIZES = {"stencil": 2048, "matrix": 1024, "nbody": 24576}


def build(task):
    """Compiles one configuration; None if that fails."""
    from cuda.bindings import nvrtc
    kernel, values = task
    macros = dict(values, KERNEL=list(KERNELS).index(kernel), SIZE=SIZES[kernel])
    options = [b"-arch=sm_90", b"-std=c++17"] + [f"-D{k}={v}".encode() for k, v in macros.items()]
    with open(SOURCE, "rb") as f:
        _, program = nvrtc.nvrtcCreateProgram(f.read(), b"spaces.cu", 0, [], [])
    failed, = nvrtc.nvrtcCompileProgram(program, len(options), options)
    cubin = None
    if not int(failed):
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = b" " * size
        nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(program)
    return values, cubin


class Device:
    """Buffers of a kernel, and the outputs that configurations must agree on."""

    def __init__(self, kernel):
        import cupy
        import numpy
        self.cupy, self.kernel, self.size, self.outputs = cupy, kernel, SIZES[kernel], {}
        random = numpy.random.default_rng(2)
        shape = (self.size, 4) if kernel == "nbody" else (self.size, self.size)
        a = cupy.asarray(random.random(shape, dtype=numpy.float32))
        b = cupy.ascontiguousarray(a.T) if kernel == "nbody" else cupy.asarray(random.random(shape, dtype=numpy.float32))
        self.arguments = a, b, cupy.zeros(shape, cupy.float32)

    def shape(self, v):
        if self.kernel == "stencil":
            return (-(-self.size // (v["BX"] * v["TLX"])), -(-self.size // (v["BY"] * v["TLY"]))), (v["BX"], v["BY"])
        if self.kernel == "matrix":
            return (self.size // v["BM"], self.size // v["BN"]), (v["TX"], v["TY"])
        return (self.size // (v["BX"] * v["OUT"]),), (v["BX"],)

    def time(self, values, cubin):
        """Milliseconds of four launches; raises what CUDA raises."""
        with tempfile.NamedTemporaryFile(suffix=".cubin") as f:  # modules are cached by their path
            f.write(cubin)
            f.flush()
            run = self.cupy.RawModule(path=f.name).get_function("run")
        grid, block = self.shape(values)
        self.arguments[2].fill(0)
        begin, end, took = self.cupy.cuda.Event(), self.cupy.cuda.Event(), []
        for _ in range(5):
            begin.record()
            run(grid, block, self.arguments)
            end.record()
            end.synchronize()
            took.append(self.cupy.cuda.get_elapsed_time(begin, end))
        self.check(values)
        launches = STEPS / values["TT"] if self.kernel == "stencil" else 1
        return [t * launches for t in took[1:]]

    def check(self, values):
        out = self.arguments[2]
        expected = self.outputs.setdefault(values.get("TT"), out.copy())
        edge = slice(8, -8) if self.kernel == "stencil" else slice(None)
        worst = float((abs(out - expected) / (abs(expected) + 1))[edge, edge].max())
        if not worst < 1e-2:
            sys.exit(f"{values}: differs from another configuration by {worst}")


def main():
    kernel, path = sys.argv[1:]
    names, *space = KERNELS[kernel]()
    tasks = [(kernel, dict(zip(names, c))) for c in space]
    with multiprocessing.get_context("fork").Pool() as pool, open(path, "w") as out:
        built = pool.imap(build, tasks, chunksize=4)  # before CUDA starts in this process
        device = Device(kernel)
        print(f"# {kernel} on {device.cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}; times in ms over the "
              "recorded repeats; an empty time is a configuration that fails to build or run", file=out)
        print(",".join(names) + ",mean_ms,min_ms,median_ms,max_ms", file=out)
        for values, cubin in built:
            times = [""] * 4
            if cubin:
                took = sorted(device.time(values, cubin))
                times = [f"{t:.6f}" for t in (sum(took) / 4, took[0], (took[1] + took[2]) / 2, took[3])]
            print(",".join(map(str, [*values.values(), *times])), file=out)


if __name__ == "__main__":
    main()
