#!/usr/bin/env bash
# Measures the ring on a machine with a GPU and no display, beside the same
# protocol by hand in CUDA, and prints one table.
#
#   bench/run.sh [BINARY]
#
# BINARY is bin/ringmaster-headless unless given; it is built if it is not there.
# Without nvcc the CUDA rows are left out. NVCC and ARCH choose the compiler and
# its target (nvcc, sm_90). OUT keeps the measured rows, one JSON object a line.
# Either side checks its results; a wrong one ends the script with an error.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:-bin/ringmaster-headless}
out=${OUT:-$(mktemp -d)}
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
mkdir -p "$out"
rm -f "$out"/cuda-*.jsonl "$out"/ring.jsonl

if [[ ! -x $binary ]]; then
	make bin/ringmaster-headless
	binary=bin/ringmaster-headless
fi
cuda=
if command -v "$nvcc" >/dev/null; then
	cuda=$(mktemp -d)
	trap 'rm -rf "$cuda"' EXIT
	"$nvcc" -O3 -arch="${ARCH:-sm_90}" -o "$cuda/ring" bench/cuda/ring.cu
else
	echo "no nvcc: without the rows of CUDA" >&2
fi

# CUDA before and after, because clocks rise and fall.
if [[ $cuda ]]; then "$cuda/ring" >"$out/cuda-1.jsonl"; fi
"$binary" bench ring --json >"$out/ring.jsonl"
if [[ $cuda ]]; then "$cuda/ring" >"$out/cuda-2.jsonl"; fi

python3 - "$out" <<'TABLE'
import glob, json, sys

out = sys.argv[1]
def rows(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]

ours, machine = {}, {}
for row in rows(out + "/ring.jsonl"):
    if "name" in row:
        ours[row["name"]] = row
    else:
        machine.update(row)
cuda = {}
for path in sorted(glob.glob(out + "/cuda-*.jsonl")):
    for row in rows(path):
        if "name" in row:
            cuda[row["name"]] = max(cuda.get(row["name"], 0), row["value"])
        else:
            machine.update(row)
for key, value in machine.items():
    print(f"{key}: {value}")

def best(prefix):
    found = [(r["value"], n) for n, r in ours.items() if n.startswith(prefix + "/") and not n.endswith("/best")]
    return max(found, default=None)

print(f"\n{'ours, best geometry':52} {'G slots/s':>10}   {'yardstick':30} {'G slots/s':>10} {'ratio':>7}")
def line(mine, yardstick, value):
    if mine and value:
        print(f"{mine[1]:52} {mine[0]/1e9:10.3f}   {yardstick:30} {value/1e9:10.3f} {mine[0]/value:7.3f}")
for prefix, size in (("ring/fused4", "4Mi"), ("ring/fused4-small", "256Ki"), ("ring/drain", "4Mi")):
    for kind in ("protocol", "lean"):
        line(best(prefix), f"CUDA {kind}, {size}", cuda.get(f"cuda/{kind}/{size}/best"))

print(f"\n{'measured beside a yardstick in the same process':52} {'value':>12} {'unit':9} {'ratio':>7}  yardstick")
for name, row in ours.items():
    if name.endswith("/best") or not name.startswith(("ring/drain", "ring/fused", "ring/hot")):
        print(f"{name:52} {row['value']:12.5g} {row['unit']:9} {row['ratio']:7.3f}  {row['yardstick']}")
TABLE
echo "rows are in $out"
