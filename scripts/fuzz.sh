#!/bin/bash
# scripts/fuzz.sh runs
# seconds N: builds libFuzzer targets (executables named *_fuzz) with clang, ASan and UBSan. It runs
# each as its test does, a fixed number of times, or for N seconds. `runs` leaves out the fuzzers
# that need the engine, whose build takes longer than all others.
#
# Seeds of x_fuzz are the files in fuzz/corpus/x. `runs` does the same every time. `seconds` keeps
# new inputs in build/fuzz/corpus/x and continues from there. It keeps an input that fails in
# build/fuzz/failures; repeat it with `build/fuzz/bin/x_fuzz FILE`.
set -euo pipefail
mode=$1
seconds=${2:-}
jobs=${JOBS:-$(nproc)}
build=build/fuzz
ninja_flags=$([ -t 2 ] || echo --quiet)

fuzz_for_seconds() {
  local fuzzer=$1 name log
  name=$(basename "$fuzzer" _fuzz)
  log=$build/logs/$name.log
  local folders=("$build/corpus/$name")
  mkdir -p "${folders[0]}"
  if [ -d "fuzz/corpus/$name" ]; then folders+=("fuzz/corpus/$name"); fi
  if ! "$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=64 \
      -print_final_stats=1 -artifact_prefix="$build/failures/$name-" "${folders[@]}" > "$log" 2>&1
  then
    tail -n 60 "$log" >&2
    echo "  $name: FAILED; the input is in $build/failures, the log is $log"
    return 1
  fi
  echo "  $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
}

launcher=()
if command -v ccache > /dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
scripts/quiet.sh cmake --preset fuzz "${launcher[@]}"
if [ "$mode" = runs ]; then
  ninja -C $build -j "$jobs" $ninja_flags reader_fuzzers
  exec ctest --test-dir $build -L '^fuzz$' --no-tests=error --output-on-failure -j "$jobs"
fi
ninja -C $build -j "$jobs" $ninja_flags all_fuzzers
mkdir -p $build/logs $build/failures
export seconds build
export -f fuzz_for_seconds
printf '%s\n' $build/bin/*_fuzz | xargs -P "$jobs" -n 1 bash -euc 'fuzz_for_seconds "$1"' fuzz
