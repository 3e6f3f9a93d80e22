// Fuzzes safetensors files and their index with hostile bytes. Only hearth::Error may be thrown.
// Tensors that are read lie inside the file and do not overlap.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "formats/hf_source.h"
#include "formats/safetensors.h"

namespace hearth {
namespace {

unsigned touch(const MappedFile& file) {
  unsigned sum = 0;
  uint64_t end = 0;
  for (const SafeTensor& tensor : read_safetensors(file)) {
    HEARTH_CHECK(tensor.offset >= end, "tensors come in the order of their data");
    end = tensor.offset + tensor.bytes;
    for (std::byte b : file.bytes().subspan(tensor.offset, tensor.bytes)) {
      sum += std::to_integer<unsigned>(b);
    }
  }
  HEARTH_CHECK(end == 0 || end == file.bytes().size(), "the data ends with the file");
  return sum;
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  // The bytes get memory of their own, so that the sanitizers see a read beyond their end.
  const hearth::MappedFile file = hearth::MappedFile::own({bytes, bytes + size}, "m.safetensors");
  try {
    // The sum is volatile, so that it is not optimised away with the reads.
    [[maybe_unused]] volatile unsigned sum = hearth::touch(file);
  } catch (const hearth::Error&) {
  }
  try {
    for (const hearth::IndexEntry& entry : hearth::read_safetensors_index(file)) {
      HEARTH_CHECK(entry.file.find('/') == std::string::npos, "a file has a plain name");
    }
  } catch (const hearth::Error&) {
    // Bytes that are not a model must throw this exception and no other.
  }
  return 0;
}
