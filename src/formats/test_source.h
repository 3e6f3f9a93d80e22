// The keys and tensors of a GGUF file, for tests, fuzzers and tools, without data. The data is
// zeros, or what a caller makes of every tensor in turn. A model of a given shape:
// formats/test_model.h.
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

// Keys and tensors of a model, each of which may be set again.
class TestSource {
 public:
  using Fill = std::function<std::vector<std::byte>(const TestTensor&)>;

  template <typename T>
  TestSource& set(std::string_view key, T value) {
    keys_.set(key, value);
    return *this;
  }
  // A tensor of that name is replaced.
  TestSource& add(const std::string& name, std::vector<uint64_t> dims, DType type = DType::kF32);
  TestSource& remove(const std::string& name);

  const GgufWriter& keys() const { return keys_; }
  const std::vector<TestTensor>& tensors() const { return tensors_; }

  // A file with all of it, and zeros for data.
  std::vector<std::byte> gguf() const;
  // `fill` is called for the tensors in their order.
  std::vector<std::byte> gguf(const Fill& fill) const;
  // Returns a source without data. Valid while this object lives and is left as it is.
  ModelSource source();

 private:
  GgufWriter keys_;
  std::vector<TestTensor> tensors_;
  std::vector<std::byte> bytes_;
};

// Bytes of a tensor's data.
size_t tensor_bytes(const TestTensor& tensor);

}  // namespace hearth
