// TestSource holds the keys and tensors of a GGUF file, for tests, fuzzers and tools. It has no
// data: gguf() writes zeros, or what a caller's function makes for every tensor in turn.
// formats/test_model.h makes one for a model of a given shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_source.h"
#include "tensor/dtype.h"

namespace hearth {

struct TestTensor {
  std::string name;
  std::vector<uint64_t> dims;  // dims[0] is the length of a row
  DType type;
};

// The keys and tensors of a model, each of which may be set again.
class TestSource {
 public:
  using Fill = std::function<std::vector<std::byte>(const TestTensor&)>;

  template <typename T>
  TestSource& set(std::string_view key, T value) {
    keys_.set(key, value);
    return *this;
  }
  // Adds a tensor, or replaces that of the same name.
  TestSource& add(const std::string& name, std::vector<uint64_t> dims, DType type = DType::kF32);
  TestSource& remove(const std::string& name);

  const GgufWriter& keys() const { return keys_; }
  const std::vector<TestTensor>& tensors() const { return tensors_; }

  // Returns the GGUF file, with zeros for data.
  std::vector<std::byte> gguf() const;
  // Returns the GGUF file; `fill` makes the data and is called for the tensors in their order.
  std::vector<std::byte> gguf(const Fill& fill) const;
  // Returns a source without data, valid while this object lives unchanged.
  ModelSource source();

 private:
  GgufWriter keys_;
  std::vector<TestTensor> tensors_;
  std::vector<std::byte> bytes_;
};

// Returns the bytes of a tensor's data.
size_t tensor_bytes(const TestTensor& tensor);

}  // namespace hearth
