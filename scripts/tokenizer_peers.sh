#!/bin/bash
# scripts/tokenizer_peers.sh [OPTION...]: runs tests/tokenizers/peer_test.py with these options. The
# test compares tokenizers of folders, by the release build's tokenizer_probe, with Hugging Face's
# own and tiktoken.
#
# The packages are those of tests/tokenizers/package-lock.json. They are installed into
# build/tokenizers, once.
set -euo pipefail
. scripts/npm.sh
folder=build/tokenizers

need_programs node npm
need_x86_64 "tokenizers are"
install_packages tests/tokenizers $folder --ignore-scripts
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python tests/tokenizers/peer_test.py --probe build/release/bin/tokenizer_probe \
  --modules $folder/node_modules "$@"
