#!/bin/bash
# scripts/agents.sh: runs tests/agents/agents.test.mjs with Claude Code, Codex and opencode, set up
# as docs/agents.md says. They talk to a stub of an engine beside the program that HEARTH names
# (default build/release/hearth).
#
# The agents are those of tests/agents/package-lock.json, installed into build/agents once. If the
# kernel allows a user network namespaces, the agents' network has only this machine.
set -euo pipefail
. scripts/npm.sh
export HEARTH=${HEARTH:-$PWD/build/release/hearth}
folder=build/agents

need_programs node npm
machine=$(node -p 'process.platform + "-" + process.arch')
case $machine in
  linux-x64 | linux-arm64) ;;
  *) exec scripts/skip.sh "the agents' packages have no program that is tested on $machine" ;;
esac
install_packages tests/agents $folder --ignore-scripts
cp tests/agents/*.mjs tests/web/hearth.mjs $folder/

# The programs under their usual names, which the packages' own install scripts would set up.
packages=$PWD/$folder/node_modules
opencode=opencode-$machine
if [ "$machine" = linux-x64 ] && ! grep -qw avx2 /proc/cpuinfo; then opencode+=-baseline; fi
mkdir -p $folder/bin
ln -sf "$packages/@anthropic-ai/claude-code-$machine/claude" $folder/bin/claude
ln -sf "$packages/@openai/codex/bin/codex.js" $folder/bin/codex
ln -sf "$packages/$opencode/bin/opencode" $folder/bin/opencode

alone=()
if unshare --user --map-root-user --net ip link set lo up 2> /dev/null; then
  alone=(unshare --user --map-root-user --net bash -euc 'ip link set lo up; exec "$@"' alone)
else
  echo "  no network of their own here: the agents could reach the one of this machine"
fi
log=$folder/log
node_tests agents $folder/agents.test.mjs $log 1200 "${alone[@]}"
sed -n 's/^ℹ \(.*: .* % .*\)/  \1/p' $log
