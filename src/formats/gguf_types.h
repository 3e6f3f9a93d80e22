// The numbers of the GGUF format (versions 2 and 3):
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md Everything in a file is little endian
// and unaligned until the tensor data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace hearth {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place: little endian");

inline constexpr uint32_t kGgufDefaultAlignment = 32;
inline constexpr size_t kGgufMaxDims = 4;

// The type of a metadata value, with its number in the file.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kGgufTypeCount = 13;

// "uint32", "string"; `type` is one of the above.
std::string_view gguf_type_name(GgufType type);
// Bytes of one value; 0 for strings and arrays, which have no fixed size.
size_t gguf_type_bytes(GgufType type);

// The type a C++ number is stored as.
template <typename T>
constexpr GgufType gguf_type_of() {
  static_assert(std::is_arithmetic_v<T>);
  if (std::is_same_v<T, bool>) return GgufType::kBool;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? GgufType::kFloat32 : GgufType::kFloat64;
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? GgufType::kInt8 : GgufType::kUint8;
    case 2:
      return is_signed ? GgufType::kInt16 : GgufType::kUint16;
    case 4:
      return is_signed ? GgufType::kInt32 : GgufType::kUint32;
    default:
      return is_signed ? GgufType::kInt64 : GgufType::kUint64;
  }
}

// A number from unaligned bytes.
template <typename T>
T gguf_load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// The name of a tensor type, whether this program reads it or not: "q4_0", "iq2_xxs (type 16)",
// "type 99".
std::string gguf_tensor_type_text(uint32_t gguf_type);
// "f32 (0), f16 (1), ...": the tensor types this program reads, for error messages.
std::string gguf_known_tensor_types();

}  // namespace hearth
