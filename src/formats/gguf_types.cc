#include "formats/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/check.h"

namespace hearth {

namespace {

struct UnreadType {
  uint32_t number;
  std::string_view name;
  GgufBlock block;
};

// Types of the format that this program does not read, with their block sizes if known. They
// include types withdrawn from the format and that of PrismML's llama.cpp (142).
constexpr UnreadType kUnreadTypes[] = {
    {4, "q4_2", {}},          {5, "q4_3", {}},        {9, "q8_1", {32, 36}},
    {15, "q8_k", {256, 292}}, {24, "i8", {1, 1}},     {25, "i16", {1, 2}},
    {26, "i32", {1, 4}},      {27, "i64", {1, 8}},    {28, "f64", {1, 8}},
    {31, "q4_0_4_4", {}},     {32, "q4_0_4_8", {}},   {33, "q4_0_8_8", {}},
    {36, "iq4_nl_4_4", {}},   {37, "iq4_nl_4_8", {}}, {38, "iq4_nl_8_8", {}},
    {142, "pq2_0", {}}};

// Types that only ik_llama.cpp has: 133 to 158 without the types of kUnreadTypes, and from 200 on
// types with interleaved rows. Some keep a scale for a whole row, so none has a block size here.
constexpr UnreadType kIkTypes[] = {
    {133, "q6_0", {}},      {134, "iq1_bn", {}},     {135, "iq2_bn", {}},
    {136, "q8_k64", {}},    {137, "iq2_k", {}},      {138, "iq3_k", {}},
    {139, "iq4_k", {}},     {140, "iq5_k", {}},      {141, "iq6_k", {}},
    {144, "iq4_ks", {}},    {145, "iq2_ks", {}},     {146, "iq4_kss", {}},
    {147, "q8_k16", {}},    {148, "q8_k32", {}},     {149, "q8_kr8", {}},
    {150, "q8_k128", {}},   {151, "q8_kv", {}},      {152, "iq5_ks", {}},
    {153, "iq2_kt", {}},    {154, "iq3_kt", {}},     {155, "iq4_kt", {}},
    {156, "iq3_ks", {}},    {157, "iq2_kl", {}},     {158, "iq1_kt", {}},
    {202, "q4_0_r8", {}},   {206, "q5_0_r4", {}},    {208, "q8_0_r8", {}},
    {210, "q2_k_r4", {}},   {211, "q3_k_r4", {}},    {212, "q4_k_r4", {}},
    {213, "q5_k_r4", {}},   {214, "q6_k_r4", {}},    {216, "iq2_xxs_r4", {}},
    {217, "iq2_xs_r4", {}}, {218, "iq3_xxs_r4", {}}, {219, "iq1_s_r4", {}},
    {220, "iq4_nl_r4", {}}, {221, "iq3_s_r4", {}},   {222, "iq2_s_r4", {}},
    {223, "iq4_xs_r8", {}}, {229, "iq1_m_r4", {}},   {230, "bf16_r16", {}},
    {233, "q6_0_r4", {}},   {335, "iq2_bn_r4", {}},  {337, "iq2_k_r4", {}},
    {338, "iq3_k_r4", {}},  {339, "iq4_k_r4", {}},   {340, "iq5_k_r4", {}},
    {344, "iq4_ks_r4", {}}, {352, "iq5_ks_r4", {}},  {398, "q8_kv_r8", {}},
    {399, "q8_k_r8", {}}};

const UnreadType* find_in(std::span<const UnreadType> types, uint32_t gguf_type) {
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const UnreadType& type) { return type.number == gguf_type; });
  return found == types.end() ? nullptr : &*found;
}

const UnreadType* find_unread(uint32_t gguf_type) {
  const UnreadType* found = find_in(kUnreadTypes, gguf_type);
  return found != nullptr ? found : find_in(kIkTypes, gguf_type);
}

// Returns "f32 (0), f16 (1), ...".
std::string known_tensor_types() {
  std::string text;
  for (DType dtype : gguf_dtypes()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", dtype_info(dtype).name,
                        gguf_type_of(dtype));
  }
  return text;
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

std::string gguf_refusal(uint32_t gguf_type) {
  const std::string name = gguf_tensor_type_text(gguf_type);
  if (find_in(kIkTypes, gguf_type) != nullptr) {
    return fmt::format(
        "it is stored as {}, a type of ik_llama.cpp's own, which this program does not read; "
        "download the same model in another type, such as a file of Q4_K_M or IQ4_XS",
        name);
  }
  return fmt::format(
      "it is stored as {}, and this program reads only {}; use the model in one of these types",
      name, known_tensor_types());
}

}  // namespace hearth
