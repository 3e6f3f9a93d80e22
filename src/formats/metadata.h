// The metadata of a model: keys and typed values, as views into the bytes of its source, in the
// source's order. Keys have the names that GGUF gives them, whatever the format. Values were
// checked when the source was read: lengths lie inside it, bools are 0 or 1.
//
// get<T>(key) returns nothing if the key is missing, and throws (kFile, naming file, key, what was
// found and what was wanted) if the value is not a T:
//   T an integer (not bool)  any integer type of the file whose value fits
//   T float, double          float32, float64; a float64 beyond float's range is refused
//   T bool                   bool
//   T std::string, std::string_view (into the file)      string
//   T std::vector of any of these                        array of such
// require<T>(key) also throws if the key is missing.
// of_layer<T>(key, layer) returns the layer's element of an array, or one value that is for all
// layers. It throws (kFile) if an array has no element for the layer.
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

#include "formats/metadata_types.h"

namespace hearth {

struct MetaValue {
  MetaType type;
  // The type of an array's elements, never an array; equal to `type` otherwise.
  MetaType element_type;
  // Elements of an array; 1 otherwise.
  uint64_t count;
  // The number's bytes, the string's characters, or an array's elements; strings in it have their
  // lengths before them.
  std::span<const std::byte> payload;

  bool is_array() const { return type == MetaType::kArray; }
};

struct MetaEntry {
  std::string_view key;
  MetaValue value;
};

// Returns "uint32", "array of string".
std::string meta_value_type_text(const MetaValue& value);
// Returns the value as one printable line: numbers, true, "text", [1, 2, ... (32000 values)]. At
// most `max_elements` of an array and `max_bytes` of a string are shown.
std::string meta_value_text(const MetaValue& value, size_t max_elements = 6, size_t max_bytes = 96);

class Metadata {
 public:
  // `file` is for messages. Throws if a key stands twice.
  Metadata(std::string file, std::vector<MetaEntry> entries);

  std::span<const MetaEntry> entries() const { return entries_; }
  // Returns the value, or nullptr.
  const MetaValue* find(std::string_view key) const;

  template <typename T>
  std::optional<T> get(std::string_view key) const;

  template <typename T>
  T require(std::string_view key) const {
    std::optional<T> value = get<T>(key);
    if (!value) fail_missing(key);
    return *std::move(value);
  }

  // Returns the value for one layer (see above). T is a number or bool.
  template <typename T>
  std::optional<T> of_layer(std::string_view key, size_t layer) const;

 private:
  [[noreturn]] void fail_missing(std::string_view key) const;
  [[noreturn]] void fail_short(std::string_view key, const MetaValue& value, size_t layer) const;

  std::string file_;
  std::vector<MetaEntry> entries_;
  std::vector<uint32_t> by_key_;
};

}  // namespace hearth
