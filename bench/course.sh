#!/usr/bin/env bash
# Runs the course on a machine with a GPU and no display, in parts that end in time.
#
#   bench/course.sh [FLAG ...]
#
# FLAGs are those of `bench course`. --course-goals is what the goals of docs/course.md need, about 25 minutes; without
# any it is the whole grid, which takes hours. --course-plan says how long.
# BENCH is bin/bench unless given, which is built if it is not there. STATE (bin/course) keeps what was measured
# and what tuners learned: the same call goes on where the last one ended. OUT (STATE) gets course.txt, course.svg and
# a copy of the STATE, without compiled programs. BUDGET (9m) is when it begins nothing more; then it exits with 75.
set -euo pipefail
cd "$(dirname "$0")/.."

bench=${BENCH:-bin/bench}
state=${STATE:-bin/course}
out=${OUT:-$state}
if [[ ! -x $bench ]]; then
	make bin/bench
	bench=bin/bench
fi
mkdir -p "$state" "$out"
status=0
"$bench" course --gl "${RINGMASTER_GL:-egl}" --course-dir "$state" --course-log "$state/course.jsonl" --course-picture "$out/course.svg" \
	--course-budget "${BUDGET:-9m}" "$@" 2> >(tee "$out/errors" >&2) | tee "$out/course.txt" || status=${PIPESTATUS[0]}
if [[ ! $state -ef $out ]]; then find "$state" -mindepth 1 -maxdepth 1 \( -name course.jsonl -o -name 'trained-*' \) -exec cp -r -t "$out" {} +; fi
if ((status != 0)) && grep -q 'budget of time is spent' "$out/errors"; then exit 75; fi
exit "$status"
