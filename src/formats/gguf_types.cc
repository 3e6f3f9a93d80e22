#include "formats/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace hearth {

namespace {

struct UnreadType {
  uint32_t number;
  std::string_view name;
  GgufBlock block;
};

// The types of the format that this program does not read, those withdrawn included. Without sizes
// where they are not known, or where programs have made two layouts of one number (42).
constexpr UnreadType kUnreadTypes[] = {{4, "q4_2", {}},
                                       {5, "q4_3", {}},
                                       {9, "q8_1", {32, 36}},
                                       {15, "q8_k", {256, 292}},
                                       {16, "iq2_xxs", {256, 66}},
                                       {17, "iq2_xs", {256, 74}},
                                       {18, "iq3_xxs", {256, 98}},
                                       {19, "iq1_s", {256, 50}},
                                       {21, "iq3_s", {256, 110}},
                                       {22, "iq2_s", {256, 82}},
                                       {23, "iq4_xs", {256, 136}},
                                       {24, "i8", {1, 1}},
                                       {25, "i16", {1, 2}},
                                       {26, "i32", {1, 4}},
                                       {27, "i64", {1, 8}},
                                       {28, "f64", {1, 8}},
                                       {29, "iq1_m", {256, 56}},
                                       {31, "q4_0_4_4", {}},
                                       {32, "q4_0_4_8", {}},
                                       {33, "q4_0_8_8", {}},
                                       {34, "tq1_0", {256, 54}},
                                       {35, "tq2_0", {256, 66}},
                                       {36, "iq4_nl_4_4", {}},
                                       {37, "iq4_nl_4_8", {}},
                                       {38, "iq4_nl_8_8", {}},
                                       {40, "nvfp4", {64, 36}},
                                       {41, "q1_0", {128, 18}},
                                       {42, "q2_0", {}}};

const UnreadType* find_unread(uint32_t gguf_type) {
  const auto* found =
      std::find_if(std::begin(kUnreadTypes), std::end(kUnreadTypes),
                   [&](const UnreadType& type) { return type.number == gguf_type; });
  return found == std::end(kUnreadTypes) ? nullptr : found;
}

}  // namespace

std::vector<DType> gguf_dtypes() {
  std::vector<DType> types;
  for (DType dtype : all_dtypes()) {
    if (dtype_info(dtype).gguf_type != kNoGgufType) types.push_back(dtype);
  }
  return types;
}

std::optional<DType> dtype_of_gguf(uint32_t gguf_type) {
  for (DType dtype : all_dtypes()) {
    if (dtype_info(dtype).gguf_type == gguf_type && gguf_type != kNoGgufType) return dtype;
  }
  return std::nullopt;
}

uint32_t gguf_type_of(DType dtype) {
  const uint32_t number = dtype_info(dtype).gguf_type;
  HEARTH_CHECK(number != kNoGgufType, "the type is one of GGUF's");
  return number;
}

std::optional<GgufBlock> gguf_block(uint32_t gguf_type) {
  if (std::optional<DType> dtype = dtype_of_gguf(gguf_type)) {
    return GgufBlock{dtype_info(*dtype).block_elements, dtype_info(*dtype).block_bytes};
  }
  const UnreadType* unread = find_unread(gguf_type);
  if (unread == nullptr || unread->block.bytes == 0) return std::nullopt;
  return unread->block;
}

std::string gguf_tensor_type_text(uint32_t gguf_type) {
  if (std::optional<DType> dtype = dtype_of_gguf(gguf_type)) {
    return std::string(dtype_info(*dtype).name);
  }
  const UnreadType* unread = find_unread(gguf_type);
  return unread == nullptr ? fmt::format("type {}", gguf_type)
                           : fmt::format("{} (type {})", unread->name, gguf_type);
}

std::string gguf_known_tensor_types() {
  std::string text;
  for (DType dtype : gguf_dtypes()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", dtype_info(dtype).name,
                        gguf_type_of(dtype));
  }
  return text;
}

}  // namespace hearth
