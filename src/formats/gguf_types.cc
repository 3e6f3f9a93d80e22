#include "formats/gguf_types.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"

namespace hearth {

namespace {

struct UnreadType {
  uint32_t number;
  std::string_view name;
};

// The types of the format that this program does not read, those withdrawn included.
constexpr std::array<UnreadType, 28> kUnreadTypes = {
    {{4, "q4_2"},    {5, "q4_3"},     {9, "q8_1"},        {15, "q8_k"},       {16, "iq2_xxs"},
     {17, "iq2_xs"}, {18, "iq3_xxs"}, {19, "iq1_s"},      {21, "iq3_s"},      {22, "iq2_s"},
     {23, "iq4_xs"}, {24, "i8"},      {25, "i16"},        {26, "i32"},        {27, "i64"},
     {28, "f64"},    {29, "iq1_m"},   {31, "q4_0_4_4"},   {32, "q4_0_4_8"},   {33, "q4_0_8_8"},
     {34, "tq1_0"},  {35, "tq2_0"},   {36, "iq4_nl_4_4"}, {37, "iq4_nl_4_8"}, {38, "iq4_nl_8_8"},
     {40, "nvfp4"},  {41, "q1_0"},    {42, "q2_0"}}};

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

std::string gguf_tensor_type_text(uint32_t gguf_type) {
  if (std::optional<DType> dtype = dtype_of_gguf(gguf_type)) {
    return std::string(dtype_info(*dtype).name);
  }
  for (const UnreadType& type : kUnreadTypes) {
    if (type.number == gguf_type) return fmt::format("{} (type {})", type.name, gguf_type);
  }
  return fmt::format("type {}", gguf_type);
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
