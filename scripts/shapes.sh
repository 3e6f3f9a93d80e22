#!/bin/bash
# scripts/shapes.sh: runs tests/shapes/shapes.test.mjs: every kind of body and stream event of the
# program that HEARTH names, build/release/hearth where it is not set, beside the declarations of
# npm's openai and @anthropic-ai/sdk, by TypeScript's compiler.
#
# The packages are those of tests/shapes/package-lock.json, installed into build/shapes once.
set -euo pipefail
. scripts/npm.sh
export HEARTH=${HEARTH:-$PWD/build/release/hearth}
folder=build/shapes

need_programs node npm
install_packages tests/shapes $folder --ignore-scripts
cp tests/shapes/*.mjs tests/web/hearth.mjs $folder/
log=$folder/log
if ! timeout --kill-after=10 900 \
    node --test --test-reporter=spec $folder/shapes.test.mjs > $log 2>&1; then
  cat $log >&2
  echo "  shapes: FAILED; the log is $log"
  exit 1
fi
sed -n 's/^ℹ \(.* declared types, .*\)/  \1/p' $log
