#include "formats/gguf_magic.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"
#include "formats/metadata_types.h"
#include "formats/safetensors.h"

namespace hearth {

namespace {

struct Lookalike {
  std::string_view start;
  std::string_view advice;
};

constexpr std::array kLookalikes = {
    Lookalike{"version https://git-lfs",
              "is a Git LFS pointer, not the model it points to; run "
              "'git lfs pull' in its folder or download the model"},
    Lookalike{"PK\x03\x04",
              "is a ZIP archive, as PyTorch's checkpoints are; convert the model to "
              "GGUF with llama.cpp's convert_hf_to_gguf.py"},
    Lookalike{"\x80\x02",
              "is a Python pickle, as old PyTorch checkpoints are; convert the model to "
              "GGUF with llama.cpp's convert_hf_to_gguf.py"},
    Lookalike{"\x1f\x8b", "is compressed with gzip; unpack it with gunzip"},
    Lookalike{"\x28\xb5\x2f\xfd", "is compressed with Zstandard; unpack it with unzstd"},
    Lookalike{"lmgg",
              "is in the old GGML format, which came before GGUF; download the model as GGUF"},
    Lookalike{"fmgg",
              "is in the old GGMF format, which came before GGUF; download the model as GGUF"},
    Lookalike{"tjgg",
              "is in the old GGJT format, which came before GGUF; download the model as GGUF"},
    Lookalike{"\x89HDF", "is an HDF5 file; download the model as GGUF"},
    Lookalike{
        "<",
        "is a web page, probably an error page instead of the model; download the model again"},
    Lookalike{"{", "is JSON, not a model; name the .gguf file, or the model's folder"},
};

[[noreturn]] void fail_foreign(std::span<const std::byte> bytes, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (looks_like_safetensors(bytes)) {
    fail(ErrorCode::kFile,
         "'{}' is a safetensors file; name the folder that it is in, or rename it to end in "
         ".safetensors",
         name);
  }
  for (const Lookalike& kind : kLookalikes) {
    if (text.starts_with(kind.start)) fail(ErrorCode::kFile, "'{}' {}", name, kind.advice);
  }
  fail(ErrorCode::kFile,
       "'{}' is not a GGUF file: it begins with '{}' instead of 'GGUF'; name a .gguf file or "
       "download it again",
       name, printable(text.substr(0, 4)));
}

}  // namespace

uint32_t check_gguf_magic(std::span<const std::byte> bytes, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.empty()) fail(ErrorCode::kFile, "'{}' is empty; download it again", name);
  if (!text.starts_with("GGUF")) fail_foreign(bytes, name);
  if (bytes.size() < kGgufHeaderBytes) {
    fail(
        ErrorCode::kFile,
        "'{}': the header needs {} bytes, but the file ends after {}; it is truncated, download it "
        "again",
        name, kGgufHeaderBytes, bytes.size());
  }
  uint32_t version = load_number<uint32_t>(&bytes[4]);
  if (version == 1) {
    fail(ErrorCode::kFile,
         "'{}' has GGUF version 1, which was replaced in 2023; download or convert the model again",
         name);
  }
  // Versions are small, so the low half is zero only in a big-endian file.
  if ((version & 0xffffu) == 0 && version != 0) {
    fail(ErrorCode::kFile,
         "'{}' is a big-endian GGUF file; convert it with llama.cpp's gguf_convert_endian.py or "
         "download it in little endian",
         name);
  }
  if (version < kGgufMinVersion || version > kGgufMaxVersion) {
    fail(ErrorCode::kFile,
         "'{}' has GGUF version {}, and this program reads {} and {}; download or convert the "
         "model again",
         name, version, kGgufMinVersion, kGgufMaxVersion);
  }
  return version;
}

}  // namespace hearth
