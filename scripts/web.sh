#!/bin/bash
# scripts/web.sh [NAME...]: runs tests/web/NAME.test.mjs, or all of them, with node and Chromium, on
# the program that HEARTH names (default build/release/hearth).
#
# The packages are those of tests/web/package-lock.json. They are installed into build/web, once,
# and the tests run there, where node finds them. Logs and screenshots are left there too.
set -euo pipefail
. scripts/npm.sh
export HEARTH=${HEARTH:-$PWD/build/release/hearth}
jobs=${JOBS:-$(nproc)}
folder=build/web

need_programs node npm chromium curl
if [ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" != true ]; then
  echo "web.sh: $(command -v node) is $(node --version); the tests need 18 or later" >&2
  exit 1
fi

run_test() {
  local name=$1 log=$folder/logs/$1.log
  node_tests "$name" "$folder/$name.test.mjs" "$log" 900
  echo "  $name: $(sed -n 's/^ℹ pass //p' "$log") tests passed"
}

mkdir -p $folder/logs
rm -f $folder/*.mjs
install_packages tests/web $folder
cp tests/web/*.mjs $folder/
if [ $# = 0 ]; then
  for file in tests/web/*.test.mjs; do set -- "$@" "$(basename "$file" .test.mjs)"; done
fi
CHROMIUM=$(command -v chromium)
export CHROMIUM folder
export -f node_tests run_test
printf '%s\n' "$@" | xargs -P "$jobs" -n 1 bash -euc 'run_test "$1"' web
