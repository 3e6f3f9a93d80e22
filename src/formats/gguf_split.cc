#include "formats/gguf_split.h"

#include <string_view>

#include "base/error.h"

namespace hearth {

namespace {

constexpr const char* kCountKey = "split.count";
constexpr const char* kIndexKey = "split.no";
constexpr const char* kTensorsKey = "split.tensors.count";

std::string part_suffix(uint32_t index, uint32_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

}  // namespace

uint32_t gguf_part_count(const Metadata& metadata, const std::string& name) {
  // Merging tools leave a count of 0 in the merged file.
  uint16_t count = metadata.get<uint16_t>(kCountKey).value_or(0);
  if (count <= 1) return 1;
  uint16_t index = metadata.get<uint16_t>(kIndexKey).value_or(0);
  if (index != 0) {
    fail(ErrorCode::kFile,
         "'{}' is part {} of {} of a split model ({} is {}); open the first part, whose name ends "
         "in '{}'",
         name, index + 1, count, kIndexKey, index, part_suffix(0, count));
  }
  return count;
}

std::string gguf_part_path(const std::string& first, uint32_t index, uint32_t count) {
  std::string suffix = part_suffix(0, count);
  if (!std::string_view(first).ends_with(suffix)) {
    fail(ErrorCode::kFile,
         "'{}' is the first of {} parts of a split model ({}), but its name does not end in '{}', "
         "so the others cannot be found; rename the parts to their original names",
         first, count, kCountKey, suffix);
  }
  return first.substr(0, first.size() - suffix.size()) + part_suffix(index, count);
}

void check_gguf_parts(std::span<const GgufPart> parts) {
  const GgufPart& first = parts[0];
  const std::string& first_name = first.file.name();
  uint32_t count = gguf_part_count(first.metadata, first_name);
  if (count != parts.size()) {
    fail(ErrorCode::kFile,
         "'{}': metadata key '{}' is {}, but {} files were given; give all parts of the model",
         first_name, kCountKey, count, parts.size());
  }
  if (count == 1) return;
  uint64_t tensors = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const GgufPart& part = parts[i];
    tensors += part.tensors.size();
    auto part_index = part.metadata.get<uint16_t>(kIndexKey);
    auto part_count = part.metadata.get<uint16_t>(kCountKey);
    if (part_index.value_or(0) != i || part_count.value_or(0) != count) {
      fail(ErrorCode::kFile,
           "'{}' is not part {} of {} of the model in '{}': its metadata keys '{}' and '{}' are {} "
           "and {}; download the parts again from one place",
           part.file.name(), i + 1, count, first_name, kIndexKey, kCountKey,
           part_index ? std::to_string(*part_index) : "missing",
           part_count ? std::to_string(*part_count) : "missing");
    }
  }
  auto wanted = first.metadata.get<uint64_t>(kTensorsKey);
  if (wanted && *wanted != tensors) {
    fail(
        ErrorCode::kFile,
        "'{}': metadata key '{}' is {}, but the {} parts hold {} tensors; download the parts again "
        "from one place",
        first_name, kTensorsKey, *wanted, count, tensors);
  }
}

}  // namespace hearth
