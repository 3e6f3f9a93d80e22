#!/bin/bash
# scripts/bench-smoke.sh FOLDER: runs every *_bench in the folder for a moment, to check that it
# runs. The numbers mean nothing.
set -euo pipefail
shopt -s nullglob
benches=("$1"/*_bench)
if [ ${#benches[@]} = 0 ]; then
  exec "$(dirname "$0")/skip.sh" "no *_bench in $1"
fi
for bench in "${benches[@]}"; do
  echo "  $(basename "$bench")"
  "$(dirname "$0")/quiet.sh" "$bench" --benchmark_min_time=0.001
done
