// Fuzzes GGUF files with hostile bytes. Reads them as one file and as a split model, then asks for
// every value in every type and touches every byte of every tensor. Only hearth::Error may be
// thrown.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "formats/gguf.h"

namespace hearth {

namespace {

// Separates the files of a split model in one input.
constexpr std::string_view kPartMark = "=PART=";

template <typename T>
void get(const Metadata& metadata, std::string_view key) {
  for (bool as_array : {false, true}) {
    try {
      if (as_array) {
        auto value = metadata.get<std::vector<T>>(key);
        HEARTH_CHECK(value.has_value(), "a key that was listed is found");
        HEARTH_CHECK(value->size() == metadata.find(key)->count, "an array is read whole");
      } else {
        HEARTH_CHECK(metadata.get<T>(key).has_value(), "a key that was listed is found");
      }
    } catch (const Error&) {
      // A value has one type, so most of these calls throw.
    }
  }
}

void touch_metadata(const Metadata& metadata) {
  for (const MetaEntry& entry : metadata.entries()) {
    get<bool>(metadata, entry.key);
    get<int8_t>(metadata, entry.key);
    get<uint8_t>(metadata, entry.key);
    get<int16_t>(metadata, entry.key);
    get<uint16_t>(metadata, entry.key);
    get<int32_t>(metadata, entry.key);
    get<uint32_t>(metadata, entry.key);
    get<int64_t>(metadata, entry.key);
    get<uint64_t>(metadata, entry.key);
    get<float>(metadata, entry.key);
    get<double>(metadata, entry.key);
    get<std::string>(metadata, entry.key);
    get<std::string_view>(metadata, entry.key);
    meta_value_text(entry.value, 64);
    meta_value_type_text(entry.value);
  }
  try {
    metadata.require<uint32_t>("no.such.key");
    HEARTH_CHECK(metadata.find("no.such.key"), "a missing key is an error");
  } catch (const Error&) {
  }
}

unsigned touch_tensors(const ModelSource& file) {
  unsigned sum = 0;
  for (const SourceTensor& tensor : file.tensors()) {
    HEARTH_CHECK(file.find_tensor(tensor.name) == &tensor, "a tensor that was listed is found");
    HEARTH_CHECK(tensor.n_elements % tensor.dims[0] == 0, "rows are whole");
    if (tensor.type_known) {
      HEARTH_CHECK(tensor.rows() * row_bytes(tensor.dtype, tensor.dims[0]) == tensor.n_bytes(),
                   "the data is as long as the shape wants");
      HEARTH_CHECK(reinterpret_cast<uintptr_t>(tensor.data.data()) % 8 == 0, "data is aligned");
    }
    for (std::byte b : tensor.data) sum += std::to_integer<unsigned>(b);
    HEARTH_CHECK(!tensor.type_text.empty(), "every type has a text, known or not");
    file.release(tensor);
  }
  return sum;
}

std::vector<MappedFile> split_parts(std::string_view input) {
  std::vector<MappedFile> parts;
  while (true) {
    std::string_view part = input.substr(0, input.find(kPartMark));
    // The part gets memory of its own, so that the sanitizers see a read beyond its end.
    const auto* from = reinterpret_cast<const std::byte*>(part.data());
    parts.push_back(MappedFile::own({from, from + part.size()}, "part.gguf"));
    if (part.size() == input.size()) return parts;
    input.remove_prefix(part.size() + kPartMark.size());
  }
}

}  // namespace

}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  for (auto unknown : {hearth::UnknownTypes::kRefuse, hearth::UnknownTypes::kKeep}) {
    try {
      hearth::ModelSource file = hearth::parse_gguf(hearth::split_parts(input), unknown);
      hearth::touch_metadata(file.metadata());
      // The sum is volatile, so that it is not optimised away with the reads.
      [[maybe_unused]] volatile unsigned sum = hearth::touch_tensors(file);
    } catch (const hearth::Error&) {
      // Bytes that are not a model must throw this exception and no other.
    }
  }
  return 0;
}
