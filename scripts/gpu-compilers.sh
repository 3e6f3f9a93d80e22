#!/bin/bash
# scripts/gpu-compilers.sh: checks without a GPU, by the release build, how GPUs would be used. It
# compiles the shaders for AMD's GPUs with two versions of Mesa, and checks the contracts with the
# newer version's lavapipe. It prints the last line of each; the rest is in build/gpu-compilers.
#
# The older Mesa is the installed one, the newer one comes from scripts/fetch-mesa.sh.
set -euo pipefail
mesa=${XDG_CACHE_HOME:-$HOME/.cache}/hearth/mesa
logs=build/gpu-compilers
mkdir -p $logs
# The cache is off, so that every shader is compiled now.
export MESA_SHADER_CACHE_DISABLE=true

# logged NAME COMMAND...
logged() {
  local log=$logs/$1.log
  shift
  if ! "$@" > "$log" 2>&1; then
    cat "$log" >&2
    echo "  FAILED: the log is $log" >&2
    return 1
  fi
  echo "  $(tail -n 1 "$log")"
}

# compile NAME DRIVER GPU: compiles all shaders for a GPU that multiplies bytes; fails if the code
# has no v_dot4.
compile() {
  logged "$1" env VK_DRIVER_FILES="$2" RADV_FORCE_FAMILY="$3" build/release/bin/shader_compile
  if grep 'no v_dot4' "$logs/$1.log" >&2; then
    echo "  FAILED: products of bytes without v_dot4; the log is $logs/$1.log" >&2
    return 1
  fi
}

installed=/usr/share/vulkan/icd.d/radeon_icd.$(uname -m).json
[ -s "$installed" ] || exec scripts/skip.sh "there is no Vulkan driver for AMD's GPUs at $installed"
compile navi21 "$installed" navi21

if [ ! -s "$mesa/version" ]; then
  exec scripts/skip.sh "all but the installed Mesa: scripts/fetch-mesa.sh fetched no newer one"
fi
export LD_LIBRARY_PATH=$mesa/lib
for gpu in navi21 navi31; do compile "newer-$gpu" "$mesa/radeon.json" $gpu; done
logged newer-lavapipe env VK_DRIVER_FILES="$mesa/lvp.json" build/release/hearth gpu llvmpipe --check
sed -n 's/^  driver  *//p' $logs/newer-lavapipe.log | sed 's/^/  by /'
