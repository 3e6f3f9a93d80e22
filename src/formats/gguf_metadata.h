// The metadata of a GGUF file: keys and typed values, as views into the file's bytes, in the file's
// order. Values were checked when the file was read: lengths lie inside the file, bools are 0 or 1.
//
// get<T>(key) returns nothing where the key is missing and throws (kFile, naming file, key, what
// was found and what was wanted) where the value is not a T:
//   T an integer (not bool)  any integer type of the file whose value fits
//   T float, double          float32, float64; a float64 beyond float's range is refused
//   T bool                   bool
//   T std::string, std::string_view (into the file)      string
//   T std::vector of any of these                        array of such
// require<T>(key) throws where the key is missing, too.
//
// Lookup is by binary search over sorted keys: hash tables have worst cases that a file can aim
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_types.h"

namespace hearth {

struct GgufValue {
  GgufType type;
  // Of an array's elements, never an array; equal to `type` otherwise.
  GgufType element_type;
  // Elements of an array; 1 otherwise.
  uint64_t count;
  // The numbers, the string's characters, or an array's strings with their lengths before them.
  std::span<const std::byte> payload;

  bool is_array() const { return type == GgufType::kArray; }
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

// "uint32", "array of string".
std::string gguf_value_type_text(const GgufValue& value);
// The value as one printable line: numbers, true, "text", [1, 2, ... (32000 values)]. At most
// `max_elements` of an array and `max_bytes` of a string are shown.
std::string gguf_value_text(const GgufValue& value, size_t max_elements = 6, size_t max_bytes = 96);

class GgufMetadata {
 public:
  // `file` is for messages. Throws where a key stands twice.
  GgufMetadata(std::string file, std::vector<GgufEntry> entries);

  std::span<const GgufEntry> entries() const { return entries_; }
  // The value, or nullptr.
  const GgufValue* find(std::string_view key) const;

  template <typename T>
  std::optional<T> get(std::string_view key) const;

  template <typename T>
  T require(std::string_view key) const {
    std::optional<T> value = get<T>(key);
    if (!value) fail_missing(key);
    return *std::move(value);
  }

 private:
  [[noreturn]] void fail_missing(std::string_view key) const;

  std::string file_;
  std::vector<GgufEntry> entries_;
  std::vector<uint32_t> by_key_;
};

}  // namespace hearth
