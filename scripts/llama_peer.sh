#!/bin/bash
# scripts/llama_peer.sh: runs tests/peers/quantized_files_test.py, files of `hearth quantize` in
# llama.cpp, with the release build's program.
#
# llama.cpp is the package of tests/peers/package-lock.json, installed into build/peers once.
set -euo pipefail
folder=build/peers

for program in node npm; do
  if ! command -v $program > /dev/null; then
    exec scripts/skip.sh "there is no $program, and no apt to install it with"
  fi
done
if [ "$(node -p 'process.platform + process.arch')" != linuxx64 ]; then
  exec scripts/skip.sh "npm's llama.cpp is compared with on x86-64 alone"
fi

mkdir -p $folder
key="$(sha256sum < tests/peers/package-lock.json)"
if [ ! -d $folder/node_modules ] || [ "$(cat $folder/installed 2> /dev/null)" != "$key" ]; then
  echo "  npm ci: the packages of tests/peers/package-lock.json"
  cp tests/peers/package.json tests/peers/package-lock.json $folder/
  rm -f $folder/installed
  (cd $folder && ../../scripts/quiet.sh npm ci --ignore-scripts --no-fund --no-audit \
    --loglevel=error)
  echo "$key" > $folder/installed
fi
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python tests/peers/quantized_files_test.py --hearth build/release/hearth \
  --made-model build/release/bin/made_model \
  --libraries $folder/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
