#!/bin/bash
# Installs the Debian 12 packages that Hearth is built and tested with, and only missing ones.
#
#   scripts/install-deps.sh [--units] [--gpu] [--gpu-mesa] [--clang] [--aarch64] [--numa] [--web]
#                           [--man] [--peers] [--check] [--train]
#
#   (no option)  compiler, build tools and libraries, for `make build`
#   --units      packages that tests need or would skip without: jq, Jinja, a validator of JSON
#                Schemas, SentencePiece, and those of --gpu and --peers
#   --gpu        a Vulkan driver that is software, its validation layer, tools for SPIR-V
#   --gpu-mesa   the same, and a newer Mesa in ~/.cache/hearth (scripts/fetch-mesa.sh); its tests
#                skip without it
#   --clang      clang, its sanitizer runtimes and clang-format: the fuzzers and the format check
#   --aarch64    cross compiler, arm64 libraries and the user-mode emulator
#   --numa       emulator, static busybox, and a kernel image in ~/.cache/hearth, for machines with
#                NUMA nodes; on x86-64 only
#   --web        node, npm, Chromium, curl and ip, where missing: for published clients, the page,
#                and agents without a network
#   --man        help2man, with which `make man` writes manual pages
#   --peers      OpenBLAS, oneDNN, python3-onnx, which tools/kernel_peers and embed_peers compare
#                with (embed_peers needs npm as well)
#   --check      everything that `make check` needs
#   --train      PyTorch and a fast BLAS, to train the demo model (tools/train_demo)
#
# If everything is already there, it asks dpkg, uses no network and prints nothing.
set -euo pipefail

libraries=(libhwloc-dev libpcre2-dev libutf8proc-dev libfmt-dev libspdlog-dev libboost1.81-dev
           libgtest-dev libgmock-dev libbenchmark-dev libcurl4-openssl-dev libedit-dev
           libssl-dev libtomlplusplus-dev)
wanted=(g++ cmake ninja-build make pkg-config git python3 python3-numpy
        "${libraries[@]}" rapidjson-dev libcli11-dev libvulkan-dev libvulkan-volk-dev glslang-tools
        libjs-marked libjs-highlight.js libjs-katex)
gpu=(mesa-vulkan-drivers vulkan-validationlayers spirv-tools)
peers=(libopenblas0-pthread libdnnl2 python3-onnx)
units=(jq python3-jinja2 python3-jsonschema sentencepiece "${gpu[@]}" "${peers[@]}")
clang=(clang libclang-rt-14-dev clang-format)
arm64=0
numa=0
web=0
mesa=0

for option in "$@"; do
  case "$option" in
    --units) wanted+=("${units[@]}") ;;
    --gpu) wanted+=("${gpu[@]}") ;;
    --gpu-mesa) wanted+=("${gpu[@]}"); mesa=1 ;;
    --clang) wanted+=("${clang[@]}") ;;
    --aarch64) arm64=1 ;;
    --numa) numa=1 ;;
    --web) web=1 ;;
    --man) wanted+=(help2man) ;;
    --peers) wanted+=("${peers[@]}") ;;
    --check) wanted+=("${units[@]}" "${clang[@]}" clang-tidy clang-tools llvm)
             arm64=1; numa=1; web=1; mesa=1 ;;
    --train) wanted+=(python3-torch libopenblas0-pthread) ;;
    *) echo "install-deps.sh: unknown option '$option'; the head of this script lists them" >&2
       exit 2 ;;
  esac
done

if ! command -v dpkg-query apt-get > /dev/null; then
  echo "install-deps.sh: no apt here; install these or their like yourself: ${wanted[*]}" >&2
  exit 0
fi

native=$(dpkg --print-architecture)
[ "$native" != arm64 ] || arm64=0
[ "$native" = amd64 ] || numa=0
# Node from another source than Debian serves as well, and comes with its own npm.
if [ "$web" = 1 ]; then
  command -v node > /dev/null || wanted+=(nodejs)
  command -v npm > /dev/null || wanted+=(npm)
  command -v chromium > /dev/null || wanted+=(chromium)
  command -v curl > /dev/null || wanted+=(curl)
  command -v ip > /dev/null || wanted+=(iproute2)
fi
if [ "$numa" = 1 ]; then wanted+=(qemu-system-x86 busybox-static); fi
if [ "$arm64" = 1 ]; then
  wanted+=(g++-aarch64-linux-gnu qemu-user libc6:arm64 libstdc++6:arm64)
  for library in "${libraries[@]}"; do wanted+=("$library:arm64"); done
fi

# "name:architecture" of all installed packages. A package for all architectures serves any.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}:${Architecture}\n' |
            sed -n 's/^installed //p')
missing=()
for package in "${wanted[@]}"; do
  name=${package%%:*}
  architecture=$native
  [ "$package" = "$name" ] || architecture=${package#*:}
  grep -qxF -e "$name:$architecture" -e "$name:all" <<< "$installed" || missing+=("$package")
done

as_root=()
if [ "$(id -u)" != 0 ] && command -v sudo > /dev/null; then as_root=(sudo); fi

# The kernel is fetched and unpacked, not installed, so this machine keeps its own.
kernel=${XDG_CACHE_HOME:-$HOME/.cache}/hearth/vmlinuz
fetch_kernel() {
  local folder
  folder=$(mktemp -d)
  echo "Fetching a kernel image: $kernel"
  # This package only depends on the one that has the current kernel.
  kernel_package() {
    apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p' | head -n 1
  }
  unpack() {
    (cd "$folder" && apt-get -qq download "$(kernel_package)" && dpkg -x ./linux-image-*.deb image)
  }
  # The lists of packages may be missing, or older than the kernel.
  if ! { unpack || { "${as_root[@]}" apt-get -qq update && unpack; }; } > "$folder/log" 2>&1; then
    cat "$folder/log" >&2
    rm -rf "$folder"
    echo "install-deps.sh: no kernel image could be fetched; put one at $kernel" >&2
    return 1
  fi
  mkdir -p "$(dirname "$kernel")"
  mv "$folder"/image/boot/vmlinuz-* "$kernel.new"
  mv "$kernel.new" "$kernel"
  rm -rf "$folder"
}
fetch_what_is_left() {
  if [ "$numa" = 1 ] && [ ! -s "$kernel" ]; then fetch_kernel; fi
  if [ "$mesa" = 1 ]; then "$(dirname "$0")/fetch-mesa.sh" || true; fi
}

if [ ${#missing[@]} = 0 ]; then
  fetch_what_is_left
  exit
fi

if [ "$(id -u)" != 0 ] && [ ${#as_root[@]} = 0 ]; then
  echo "install-deps.sh: missing ${missing[*]}; run this script as root" >&2
  exit 1
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y
     -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

# Both architectures of a shared library must have one version. So the native packages are named
# beside the foreign ones, and apt updates an older native package too.
names=("${missing[@]}")
for package in "${missing[@]}"; do
  [ "$package" = "${package%%:*}" ] || names+=("${package%%:*}")
done

echo "Installing: ${missing[*]}"
if [ "$arm64" = 1 ] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
  "${as_root[@]}" dpkg --add-architecture arm64
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${names[@]}"; } \
    > "$log" 2>&1; then
  cat "$log" >&2
  echo "install-deps.sh: apt could not install ${missing[*]}; its messages stand above" >&2
  exit 1
fi
fetch_what_is_left
