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
node_tests shapes $folder/shapes.test.mjs $log 900
sed -n 's/^ℹ \(.* declared types, .*\)/  \1/p' $log
