#!/usr/bin/env bash
# Measures searches of resident graphs on a machine with a GPU and no display,
# beside a search by hand in CUDA on the same graphs and sources, and prints one
# table.
#
#   bench/graph.sh [PROGRAM]
#
# PROGRAM is bin/bench unless given, which is built if it is not there.
# Without nvcc the CUDA rows are left out. NVCC and ARCH choose the compiler and
# its target (nvcc, sm_90). OUT keeps the measured rows, one JSON object a line,
# GRAPHS the graphs (about 700 MB, deleted unless it is given). Either side checks
# the depths of every search; a wrong one ends the script with an error. SCALE is
# the largest of the graphs whose edge work is counted (20), SOURCES how many
# searches a graph gets (16, at most 8 of them timed).
set -euo pipefail
cd "$(dirname "$0")/.."

bench=${1:-bin/bench}
out=${OUT:-$(mktemp -d)}
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
graphs=${GRAPHS:-$work/graphs}
mkdir -p "$out"
rm -f "$out"/graph-cuda.jsonl "$out"/graph.jsonl

if [[ ! -x $bench ]]; then
	make bin/bench
	bench=bin/bench
fi
"$bench" graph --json --scale "${SCALE:-20}" --sources "${SOURCES:-16}" --dump "$graphs" >"$out/graph.jsonl"
if command -v "$nvcc" >/dev/null; then
	"$nvcc" -O3 -std=c++17 -arch="${ARCH:-sm_90}" -o "$work/bfs" bench/cuda/bfs.cu
	"$work/bfs" "$graphs" >"$out/graph-cuda.jsonl"
else
	echo "no nvcc: without the rows of CUDA" >&2
fi

python3 - "$out" <<'TABLE'
import json, os, sys

out = sys.argv[1]
def rows(path):
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]

ours, cuda, machine = {}, {}, {}
for row in rows(out + "/graph.jsonl"):
    (ours if "name" in row else machine).update({row["name"]: row} if "name" in row else row)
for row in rows(out + "/graph-cuda.jsonl"):
    (cuda if "name" in row else machine).update({row["name"]: row} if "name" in row else row)
for key, value in machine.items():
    print(f"{key}: {value}")

print(f"\n{'search from the sources, median':34} {'ms':>9}   {'yardstick':46} {'ms':>9} {'ratio':>7}")
def line(name, value, yardstick, than):
    if than:
        print(f"{name:34} {value:9.3f}   {yardstick:46} {than:9.3f} {value/than:7.3f}")
for name, row in ours.items():
    if not name.startswith("graph/bfs/") or name.count("/") != 2:
        continue
    graph = name.split("/")[2]
    line(graph, row["value"], row["yardstick"], row["yardstick_value"])
    for walk in ("plain", "switch", "push", "pull"):
        found = cuda.get(f"cuda/{graph.replace(':', '-')}/{walk}/best")
        if found:
            line(graph, row["value"], f"CUDA {walk}, until the host knows", found["value"])
            line(graph, row["value"], f"CUDA {walk}, the kernel alone", found["device_ms"])

print(f"\n{'all rows':44} {'value':>12} {'unit':8} {'ratio':>8}  yardstick")
for name, row in ours.items():
    print(f"{name:44} {row['value']:12.5g} {row['unit']:8} {row['ratio']:8.3f}  {row['yardstick']}")
for name, row in cuda.items():
    if name.endswith("/best"):
        print(f"{name:44} {row['value']:12.5g} {row['unit']:8} {'':8}  {row['teps']:.4g} edges/s, the kernel alone {row['device_ms']:.4g} ms")
TABLE
echo "rows are in $out"
