#!/bin/bash
# scripts/fetch-mesa.sh: fetches the Mesa of Debian 12's backports, newer than Debian 12's own, and
# unpacks it into ~/.cache/hearth/mesa without installing anything. scripts/gpu-compilers.sh uses
# it.
#
#   mesa/version                 the package's version
#   mesa/radeon.json, lvp.json   drivers for VK_DRIVER_FILES
#   mesa/lib                     for LD_LIBRARY_PATH: libraries newer than Debian 12's
#
# If it is already there, the script uses no network and prints nothing. Remove the folder to fetch
# it again. The status is 1, after a sentence, if it cannot be fetched.
set -euo pipefail

mesa=${XDG_CACHE_HOME:-$HOME/.cache}/hearth/mesa
# These packages replace Debian 12's older ones; mesa-vulkan-drivers' other dependencies come with
# Debian 12's own Mesa.
packages=(mesa-vulkan-drivers libdrm2 libdrm-amdgpu1)

# give_up WHY
give_up() {
  echo "fetch-mesa.sh: $1; tests of compilers go without a newer Mesa" >&2
  exit 1
}

[ ! -s "$mesa/version" ] || exit 0
command -v apt-get dpkg > /dev/null || give_up "there is no apt here to fetch a newer Mesa with"

# The address of this machine's Debian archive. apt gives it for every form of its sources.
native=$(dpkg --print-architecture)
debian=$(apt-get indextargets --format '$(RELEASE) $(CODENAME) $(REPO_URI)' \
             'Created-By: Packages' 'Component: main' "Architecture: $native" 2> /dev/null |
         awk '$1 == "bookworm" || $2 == "bookworm" { print $NF; exit }')
[ -n "$debian" ] || give_up "apt has no source of Debian 12 here"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/none" "$folder/debs" \
  "$folder/mesa"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
options="arch=$native"
[ ! -s $keys ] || options+=" signed-by=$keys"
echo "deb [$options] $debian bookworm-backports main" > "$folder/sources.list"
# The lists, the cache and the sources are in the folder, so that the machine's stay unchanged.
apt=(apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list"
     -o Dir::Etc::sourceparts="$folder/none" -o Dir::State::lists="$folder/lists"
     -o Dir::Cache="$folder/cache" -o APT::Sandbox::User= -o Acquire::Retries=3
     -o Acquire::Languages=none)

fetch() {
  # Names the release, so that this machine's preferences do not matter.
  local names=("${packages[@]/%//bookworm-backports}")
  "${apt[@]}" update && (cd "$folder/debs" && "${apt[@]}" download "${names[@]}") || return 1
  local deb
  for deb in "$folder"/debs/*.deb; do dpkg -x "$deb" "$folder/mesa" || return 1; done
}
echo "Fetching Mesa of Debian's backports: $mesa"
if ! fetch > "$folder/log" 2>&1; then
  cat "$folder/log" >&2
  give_up "no Mesa could be fetched from bookworm-backports; apt's messages stand above"
fi

# These files name the drivers. Without a path the loader would find the system's driver.
for driver in radeon lvp; do
  icd=$(find "$folder/mesa/usr/share/vulkan/icd.d" -name "${driver}_icd*.json" -print -quit)
  library=$(find "$folder/mesa/usr/lib" -name "libvulkan_$driver.so" -printf 'usr/lib/%P' -quit)
  if [ -z "$icd" ] || [ -z "$library" ]; then
    give_up "Mesa of the backports has no driver '$driver'"
  fi
  sed "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$mesa/$library\"|" "$icd" \
    > "$folder/mesa/$driver.json"
done
ln -s "$(dirname "$library")" "$folder/mesa/lib"
dpkg-deb -f "$folder"/debs/mesa-vulkan-drivers_*.deb Version > "$folder/mesa/version"
mkdir -p "$(dirname "$mesa")"
rm -rf "$mesa"
mv "$folder/mesa" "$mesa"
