// The types that values of a model's metadata have (formats/metadata.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "files are read in place: little endian");

// The type of a metadata value. The numbers are those of GGUF files.
enum class MetaType : uint32_t {
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
inline constexpr uint32_t kMetaTypeCount = 13;

// Returns the type's name: "uint32", "string".
std::string_view meta_type_name(MetaType type);
// Returns the bytes of one value; 0 for strings and arrays, which have no fixed size.
size_t meta_type_bytes(MetaType type);

// Returns the type that a C++ number is stored as.
template <typename T>
constexpr MetaType meta_type_of() {
  static_assert(std::is_arithmetic_v<T>);
  if (std::is_same_v<T, bool>) return MetaType::kBool;
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? MetaType::kFloat32 : MetaType::kFloat64;
  constexpr bool is_signed = std::is_signed_v<T>;
  if (sizeof(T) == 1) return is_signed ? MetaType::kInt8 : MetaType::kUint8;
  if (sizeof(T) == 2) return is_signed ? MetaType::kInt16 : MetaType::kUint16;
  if (sizeof(T) == 4) return is_signed ? MetaType::kInt32 : MetaType::kUint32;
  return is_signed ? MetaType::kInt64 : MetaType::kUint64;
}

// Reads a number from unaligned bytes.
template <typename T>
T load_number(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Calls use(number) with the value at `from` in its own C++ type; not for strings and arrays.
template <typename Use>
auto with_number(MetaType type, const std::byte* from, Use use) {
  if (type == MetaType::kUint8) return use(load_number<uint8_t>(from));
  if (type == MetaType::kInt8) return use(load_number<int8_t>(from));
  if (type == MetaType::kUint16) return use(load_number<uint16_t>(from));
  if (type == MetaType::kInt16) return use(load_number<int16_t>(from));
  if (type == MetaType::kUint32) return use(load_number<uint32_t>(from));
  if (type == MetaType::kInt32) return use(load_number<int32_t>(from));
  if (type == MetaType::kUint64) return use(load_number<uint64_t>(from));
  if (type == MetaType::kInt64) return use(load_number<int64_t>(from));
  if (type == MetaType::kFloat32) return use(load_number<float>(from));
  if (type == MetaType::kFloat64) return use(load_number<double>(from));
  if (type == MetaType::kBool) return use(load_number<uint8_t>(from) != 0);
  HEARTH_CHECK(false, "not the type of a number");
}

}  // namespace hearth
