// Metadata that a reader makes itself, of a format that gives hyper-parameters in another form.
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

  // Points into this object, wherever it is moved to. `file` is for messages.
  Metadata metadata(std::string file) const;

 private:
  struct Entry {
    std::string key;
    MetaType type;
    std::vector<std::byte> bytes;
  };

  template <typename T>
  void add(std::string key, T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    entries_.push_back({std::move(key), meta_type_of<T>(), {bytes, bytes + sizeof value}});
  }

  std::deque<Entry> entries_;
};

}  // namespace hearth
