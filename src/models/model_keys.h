// Reads the keys `<architecture>.*` of a model's metadata. A key may have a value for every layer
// in place of one for all; a view of one layer reads that layer's value. ModelKeys remembers the
// keys that were read: unread keys that change a model's results are refused
// (models/unread_keys.h).
//
// Throws Error (kFile), naming the key, for a key that is missing, of another type or out of
// bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/model_source.h"

namespace hearth {

class ModelKeys {
 public:
  // The source must outlive the keys.
  explicit ModelKeys(const ModelSource& source);

  // Returns a view in which keys with a value for every layer give this layer's value.
  ModelKeys of_layer(uint32_t layer) const;

  // Returns whether the key has a value for every layer.
  bool is_per_layer(const char* key) const;
  // Returns a number from 1 to `most`.
  uint32_t count(const char* key, uint32_t most) const;
  uint32_t count_or(const char* key, uint32_t otherwise, uint32_t most) const;
  uint32_t number_or(const char* key, uint32_t otherwise) const;
  // Returns a finite number above zero.
  double real_or(const char* key, double otherwise) const;
  double need_real(const char* key) const;
  double non_negative_or(const char* key, double otherwise) const;
  bool flag_or(const char* key, bool otherwise) const;
  std::string text_or(const char* key, const char* otherwise) const;

  template <typename T>
  [[noreturn]] void refuse(const char* key, const T& value, const std::string& wanted) const {
    fail(ErrorCode::kFile,
         "'{}' has {}{} = {}, but the value must be {}: the file is damaged or made for another "
         "program",
         source_->name(), prefix_, key, value, wanted);
  }

  // Returns the prefix, such as "llama."
  const std::string& prefix() const { return prefix_; }
  const ModelSource& source() const { return *source_; }
  // Returns whether the key was read.
  bool was_read(std::string_view key) const { return read_->contains(key); }

 private:
  template <typename T>
  std::optional<T> get(const char* key) const;
  uint32_t checked(const char* key, uint32_t value, uint32_t most) const;

  const ModelSource* source_;
  std::string prefix_;
  std::optional<uint32_t> layer_;
  std::shared_ptr<std::set<std::string, std::less<>>> read_;
};

}  // namespace hearth
