#!/bin/bash
# scripts/tokenizer_peers.sh [OPTION...]: runs tests/tokenizers/peer_test.py with these options, the
# tokenizers of folders beside Hugging Face's own and tiktoken, with the release build's
# tokenizer_probe.
#
# The packages are those of tests/tokenizers/package-lock.json. They are installed into
# build/tokenizers, once.
set -euo pipefail
folder=build/tokenizers

for program in node npm; do
  if ! command -v $program > /dev/null; then
    exec scripts/skip.sh "there is no $program, and no apt to install it with"
  fi
done
if [ "$(node -p 'process.platform + process.arch')" != linuxx64 ]; then
  exec scripts/skip.sh "npm's tokenizers are compared with on x86-64 alone"
fi

mkdir -p $folder
key="$(node -p 'process.version') $(sha256sum < tests/tokenizers/package-lock.json)"
if [ ! -d $folder/node_modules ] || [ "$(cat $folder/installed 2> /dev/null)" != "$key" ]; then
  echo "  npm ci: the packages of tests/tokenizers/package-lock.json"
  cp tests/tokenizers/package.json tests/tokenizers/package-lock.json $folder/
  rm -f $folder/installed
  (cd $folder && ../../scripts/quiet.sh npm ci --ignore-scripts --no-fund --no-audit \
    --loglevel=error)
  echo "$key" > $folder/installed
fi
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python tests/tokenizers/peer_test.py --probe build/release/bin/tokenizer_probe \
  --modules $folder/node_modules "$@"
