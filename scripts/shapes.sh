#!/bin/bash
# scripts/shapes.sh: runs tests/shapes/shapes.test.mjs on the program that HEARTH names (default
# build/release/hearth). TypeScript's compiler compares every kind of body and stream event with the
# declarations of npm's openai and @anthropic-ai/sdk.
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
node_tests shapes $folder/shapes.test.mjs $log 900
sed -n 's/^ℹ \(.* declared types, .*\)/  \1/p' $log
