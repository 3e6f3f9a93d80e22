// Writes GGUF files (version 3, little endian). Metadata and tensors come out in the order they
// were added; setting a key again replaces its value in place. `general.alignment`, if set, is
// honoured. Tensor data is copied when added. ModelSource reads the files, unless the caller sets
// something wrong on purpose: metadata values are not checked. Errors: save() throws kFile. A
// tensor whose bytes do not fit its dimensions is a bug of the caller, on which a check fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "formats/gguf_types.h"
#include "formats/metadata.h"
#include "tensor/dtype.h"

namespace hearth {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3) : version_(version) {}

  // A number is stored in the type of the argument: 1u is a uint32, 1 an int32, size_t a uint64,
  // 1.0f a float32, 1.0 a float64.
  template <typename T>
  requires std::is_arithmetic_v<T>
  void set(std::string_view key, T value) {
    std::vector<std::byte> bytes;
    append(bytes, value);
    set_raw(key, static_cast<uint32_t>(meta_type_of<T>()), std::move(bytes));
  }
  void set(std::string_view key, std::string_view value);
  template <typename T>
  requires std::is_arithmetic_v<T>
  void set(std::string_view key, const std::vector<T>& values) {
    std::vector<std::byte> bytes;
    append(bytes, static_cast<uint32_t>(meta_type_of<T>()));
    append(bytes, static_cast<uint64_t>(values.size()));
    for (T value : values) append(bytes, value);
    set_raw(key, static_cast<uint32_t>(MetaType::kArray), std::move(bytes));
  }
  void set(std::string_view key, const std::vector<std::string>& values);
  // Sets a value that was read from a source.
  void set(std::string_view key, const MetaValue& value);
  // Sets a value by its type number and its bytes in the file, unchecked.
  void set_raw(std::string_view key, uint32_t type, std::vector<std::byte> bytes);

  // Sets all keys of another writer.
  void set_all(const GgufWriter& other);

  void erase(std::string_view key);

  // Adds a tensor with a copy of its data. `dims` are in the file's order: dims[0] is the length of
  // a row, contiguous in memory; there are 1 to 4.
  void add_tensor(std::string_view name, std::vector<uint64_t> dims, DType dtype,
                  std::span<const std::byte> bytes);
  // Adds a tensor of F32 data.
  void add_tensor(std::string_view name, std::vector<uint64_t> dims,
                  std::span<const float> values) {
    add_tensor(name, std::move(dims), DType::kF32, std::as_bytes(values));
  }

  // Adds a tensor without data: the caller writes the data itself after head().
  void declare_tensor(std::string_view name, std::vector<uint64_t> dims, DType dtype);

  // Returns the bytes before the data section. Each tensor's data follow in turn, each padded with
  // zeros to a multiple of alignment().
  std::vector<std::byte> head() const;
  uint64_t alignment() const;
  // Returns the whole file; every tensor must have data.
  std::vector<std::byte> finish() const;
  void save(const std::string& path) const;

 private:
  struct Entry {
    std::string key;
    uint32_t type;
    std::vector<std::byte> bytes;
  };
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    DType dtype;
    uint64_t size;
    std::vector<std::byte> bytes;  // empty, or `size` bytes
  };

  template <typename T>
  static void append(std::vector<std::byte>& out, T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(T));
  }
  static void append_string(std::vector<std::byte>& out, std::string_view text);

  uint32_t version_;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
};

}  // namespace hearth
