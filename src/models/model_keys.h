// The keys `<architecture>.*` of a model's metadata, with their errors. A key may have a value for
// every layer in place of one for all: keys of a layer read its own.
//
// What was read is remembered: keys that change what a model computes and that nobody reads are
// refused (models/unread_keys.h).
//
// Errors (kFile): a key that is missing, of another type or out of its bounds, naming the key.
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
  // The source outlives the keys.
  explicit ModelKeys(const ModelSource& source);

  // Returns a view of the keys in which those with a value for every layer give this layer's.
  ModelKeys of_layer(uint32_t layer) const;

  // Whether the key has values for layers.
  bool is_per_layer(const char* key) const;
  // A number from 1 to `most`.
  uint32_t count(const char* key, uint32_t most) const;
  uint32_t count_or(const char* key, uint32_t otherwise, uint32_t most) const;
  uint32_t number_or(const char* key, uint32_t otherwise) const;
  // A finite number above zero.
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

  // "llama."
  const std::string& prefix() const { return prefix_; }
  const ModelSource& source() const { return *source_; }
  // Whether the key was read.
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
