// MadeMetadata builds Metadata for a format that states hyper-parameters in another form than
// GGUF's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"

namespace hearth {

class MadeMetadata {
 public:
  void set(std::string key, uint32_t value) { add(std::move(key), value); }
  void set(std::string key, float value) { add(std::move(key), value); }
  void set(std::string key, bool value) { add(std::move(key), value); }
  void set(std::string key, std::string_view value);
  void set(std::string key, const char* value) { set(std::move(key), std::string_view(value)); }
  // Sets an array with a value for every layer.
  template <typename T>
  void set(std::string key, const std::vector<T>& values) {
    Entry entry{std::move(key), MetaType::kArray, meta_type_of<T>(), values.size(), {}};
    for (const T value : values) append(value, &entry.bytes);
    entries_.push_back(std::move(entry));
  }

  // Returns metadata that points into this object, also after it is moved. `file` is for messages.
  Metadata metadata(std::string file) const;

 private:
  struct Entry {
    std::string key;
    MetaType type, element_type;
    uint64_t count;
    std::vector<std::byte> bytes;
  };

  template <typename T>
  static void append(T value, std::vector<std::byte>* bytes) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes->insert(bytes->end(), from, from + sizeof value);
  }
  template <typename T>
  void add(std::string key, T value) {
    Entry entry{std::move(key), meta_type_of<T>(), meta_type_of<T>(), 1, {}};
    append(value, &entry.bytes);
    entries_.push_back(std::move(entry));
  }

  std::deque<Entry> entries_;
};

}  // namespace hearth
