#include "formats/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace hearth {

namespace {

// ggml_type by number, those withdrawn from the format included.
constexpr std::array<std::string_view, 43> kTensorTypes = {
    "f32",   "f16",        "q4_0",       "q4_1",       "q4_2",     "q4_3",     "q5_0",
    "q5_1",  "q8_0",       "q8_1",       "q2_k",       "q3_k",     "q4_k",     "q5_k",
    "q6_k",  "q8_k",       "iq2_xxs",    "iq2_xs",     "iq3_xxs",  "iq1_s",    "iq4_nl",
    "iq3_s", "iq2_s",      "iq4_xs",     "i8",         "i16",      "i32",      "i64",
    "f64",   "iq1_m",      "bf16",       "q4_0_4_4",   "q4_0_4_8", "q4_0_8_8", "tq1_0",
    "tq2_0", "iq4_nl_4_4", "iq4_nl_4_8", "iq4_nl_8_8", "mxfp4",    "nvfp4",    "q1_0",
    "q2_0"};

}  // namespace

std::span<const DTypeInfo> gguf_dtypes() {
  return all_dtypes().first(static_cast<size_t>(DType::kF8E4M3));
}

// The two tables name types alike.
std::optional<DType> dtype_of_gguf(uint32_t gguf_type) {
  for (const DTypeInfo& info : gguf_dtypes()) {
    if (gguf_type < kTensorTypes.size() && info.name == kTensorTypes[gguf_type]) return info.dtype;
  }
  return std::nullopt;
}

uint32_t gguf_type_of(DType dtype) {
  const auto* type = std::find(kTensorTypes.begin(), kTensorTypes.end(), dtype_info(dtype).name);
  HEARTH_CHECK(type != kTensorTypes.end(), "the type is one of GGUF's");
  return static_cast<uint32_t>(type - kTensorTypes.begin());
}

std::string gguf_tensor_type_text(uint32_t gguf_type) {
  if (std::optional<DType> dtype = dtype_of_gguf(gguf_type)) {
    return std::string(dtype_info(*dtype).name);
  }
  if (gguf_type >= kTensorTypes.size()) return fmt::format("type {}", gguf_type);
  return fmt::format("{} (type {})", kTensorTypes[gguf_type], gguf_type);
}

std::string gguf_known_tensor_types() {
  std::string text;
  for (const DTypeInfo& info : gguf_dtypes()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", info.name, gguf_type_of(info.dtype));
  }
  return text;
}

}  // namespace hearth
