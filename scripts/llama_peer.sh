#!/bin/bash
# scripts/llama_peer.sh: runs tests/peers/quantized_files_test.py, which loads files of the release
# build's `hearth quantize` in llama.cpp.
#
# llama.cpp is the package of tests/peers/package-lock.json, installed into build/peers once.
set -euo pipefail
. scripts/npm.sh
folder=build/peers

need_programs node npm
need_x86_64 "llama.cpp is"
install_packages tests/peers $folder --ignore-scripts
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python tests/peers/quantized_files_test.py --hearth build/release/hearth \
  --made-model build/release/bin/made_model \
  --libraries $folder/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
