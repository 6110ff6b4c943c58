#!/usr/bin/env bash
# Measures the ring on a machine with a GPU and no display, beside the same
# protocol by hand in CUDA, and prints one table.
#
#   bench/run.sh [PROGRAM]
#
# CUDA and ours take turns, ROUNDS times (5); a round's figure is on either side the
# best geometry's median run, and the table says the median of the rounds'
# ratios. The other rows of the ring are measured once, behind; REST=0 leaves them out.
# PROGRAM is bin/bench unless given, which is built if it is not there.
# Without nvcc the CUDA rows are left out. NVCC and ARCH choose the compiler and
# its target (nvcc, sm_90). OUT keeps the measured rows, one JSON object a line.
# Either side checks its results; a wrong one ends the script with an error.
set -euo pipefail
cd "$(dirname "$0")/.."

bench=${1:-bin/bench}
out=${OUT:-$(mktemp -d)}
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
mkdir -p "$out"
rm -f "$out"/cuda-*.jsonl "$out"/ours-*.jsonl "$out"/ring.jsonl

if [[ ! -x $bench ]]; then
	make bin/bench
	bench=bin/bench
fi
cuda=
if command -v "$nvcc" >/dev/null; then
	cuda=$(mktemp -d)
	trap 'rm -rf "$cuda"' EXIT
	"$nvcc" -O3 -arch="${ARCH:-sm_90}" -o "$cuda/ring" bench/cuda/ring.cu
else
	echo "no nvcc: without the rows of CUDA" >&2
fi

# By turns, because clocks rise and fall.
for ((round = 1; round <= ${ROUNDS:-5}; round++)); do
	if [[ $cuda ]]; then "$cuda/ring" >"$out/cuda-$round.jsonl"; fi
	"$bench" drain --json >"$out/ours-$round.jsonl"
done
if [[ ${REST:-1} != 0 ]]; then
	"$bench" ring --json >"$out/ring.jsonl"
	if [[ $cuda ]]; then "$cuda/ring" >"$out/cuda-last.jsonl"; fi
fi

python3 - "$out" <<'TABLE'
import glob, json, os, statistics, sys

out = sys.argv[1]
machine = {}
def rows(path):
    found = {}
    if os.path.exists(path):
        with open(path) as lines:
            for row in map(json.loads, filter(str.strip, lines)):
                if "name" in row:
                    found[row["name"]] = row
                else:
                    machine.update(row)
    return found

def best(found, prefix):
    return max(((r["value"], n) for n, r in found.items() if n.startswith(prefix + "/") and not n.endswith("/best")), default=None)

rounds = []
while os.path.exists(f"{out}/ours-{len(rounds) + 1}.jsonl"):
    n = len(rounds) + 1
    rounds.append((rows(f"{out}/ours-{n}.jsonl"), rows(f"{out}/cuda-{n}.jsonl")))
ours = rows(out + "/ring.jsonl")
cuda = {}
for path in glob.glob(out + "/cuda-*.jsonl"):
    for name, row in rows(path).items():
        cuda[name] = max(cuda.get(name, 0), row["value"])
for key, value in machine.items():
    print(f"{key}: {value}")

print(f"\n{'by turns':40} {'ours, G slots/s':>24} {'CUDA protocol':>24} {'ratio: median':>14} {'each round'}")
for prefix, size in (("ring/fused4", "4Mi"), ("ring/fused4-small", "256Ki")):
    pairs = [(best(o, prefix), best(c, f"cuda/protocol/{size}")) for o, c in rounds]
    pairs = [(o, c) for o, c in pairs if o]
    if not pairs:
        continue
    mine = sorted(o[0] / 1e9 for o, _ in pairs)
    text = f"{statistics.median(mine):.2f} ({mine[0]:.2f} to {mine[-1]:.2f})"
    if all(c for _, c in pairs):
        theirs = sorted(c[0] / 1e9 for _, c in pairs)
        ratios = [o[0] / c[0] for o, c in pairs]
        print(f"{prefix + ', ' + size:40} {text:>24} {f'{statistics.median(theirs):.2f} ({theirs[0]:.2f} to {theirs[-1]:.2f})':>24} "
              f"{statistics.median(ratios):14.3f} {' '.join(f'{r:.3f}' for r in ratios)}")
    else:
        print(f"{prefix + ', ' + size:40} {text:>24}")
    print(f"    best geometries: {' '.join(sorted({o[1].split('/')[-1] for o, _ in pairs}))}; CUDA: {' '.join(sorted({c[1].split('/')[-1] for _, c in pairs if c}))}")

if ours:
    print(f"\n{'ours once, best geometry':52} {'G slots/s':>10}   {'the best of all runs of':30} {'G slots/s':>10} {'ratio':>7}")
    for prefix, size in (("ring/fused4", "4Mi"), ("ring/fused4-small", "256Ki"), ("ring/drain", "4Mi")):
        for kind in ("protocol", "lean"):
            mine, value = best(ours, prefix), cuda.get(f"cuda/{kind}/{size}/best")
            if mine and value:
                print(f"{mine[1]:52} {mine[0]/1e9:10.3f}   {f'CUDA {kind}, {size}':30} {value/1e9:10.3f} {mine[0]/value:7.3f}")
    print(f"\n{'measured beside a yardstick in the same process':52} {'value':>12} {'unit':9} {'ratio':>7}  yardstick")
    for name, row in ours.items():
        if name.endswith("/best") or not name.startswith(("ring/drain", "ring/fused", "ring/hot")):
            print(f"{name:52} {row['value']:12.5g} {row['unit']:9} {row['ratio']:7.3f}  {row['yardstick']}")
TABLE
echo "rows are in $out"
