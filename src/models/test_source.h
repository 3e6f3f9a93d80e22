// Models for tests that need no weights: sources with hyper-parameters, and tensors by name, type
// and shape, without data or with zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/test_gguf_writer.h"
#include "models/model_spec.h"

namespace hearth {

class TestSource {
 public:
  template <typename T>
  TestSource& set(std::string_view key, T value) {
    keys_.set(key, value);
    return *this;
  }
  // A tensor of that name is replaced.
  TestSource& add(const std::string& name, std::vector<uint64_t> dims, DType type = DType::kF32) {
    remove(name);
    tensors_.push_back({name, std::move(dims), type});
    return *this;
  }
  TestSource& remove(const std::string& name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }

  // A file with all of it, and zeros for data.
  std::vector<std::byte> gguf() const {
    GgufWriter writer = keys_;
    for (const Tensor& tensor : tensors_) {
      size_t rows = 1;
      for (size_t d = 1; d < tensor.dims.size(); ++d) rows *= tensor.dims[d];
      std::vector<std::byte> zeros(rows * row_bytes(tensor.type, tensor.dims[0]));
      writer.add_tensor(tensor.name, tensor.dims, tensor.type, zeros);
    }
    return writer.finish();
  }

  // Without data. Valid while this object lives and is left as it is.
  ModelSource source() {
    static constexpr SourceFormat kFormat{
        "test", [](const ModelSource&) { return false; },
        [](const ModelSource&) -> Vocab { fail(ErrorCode::kFile, "no vocabulary"); }};
    bytes_ = keys_.finish();
    std::vector<MappedFile> files;
    files.push_back(MappedFile::view(bytes_, "test.gguf"));
    std::vector<SourceTensor> tensors;
    for (const Tensor& tensor : tensors_) {
      uint64_t elements = 1;
      for (uint64_t dim : tensor.dims) elements *= dim;
      tensors.push_back({.name = tensor.name,
                         .dtype = tensor.type,
                         .type_known = true,
                         .type_text = std::string(dtype_info(tensor.type).name),
                         .dims = tensor.dims,
                         .n_elements = elements,
                         .data = {},
                         .part = 0,
                         .offset = 0});
    }
    Metadata metadata = parse_gguf(bytes_, "test.gguf").metadata();
    return ModelSource(kFormat, 1, std::move(files), std::move(metadata), std::move(tensors));
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    DType type;
  };

  GgufWriter keys_;
  std::vector<Tensor> tensors_;
  std::vector<std::byte> bytes_;
};

// The shape of a llama model, every layer alike.
struct LlamaShape {
  uint32_t layers = 1, width = 64, heads = 4, kv_heads = 2;
  uint32_t key_length = 16, value_length = 16;
  uint32_t ffn = 96, vocabulary = 100, context = 4096;
  uint32_t window = 0;
  bool tied = true;                                    // the embedding table is the head
  DType type = DType::kF32, table_type = DType::kF32;  // of the layers' matrices, and of the tables
};

inline TestSource llama_source(const LlamaShape& shape) {
  TestSource source;
  source.set("general.architecture", "llama");
  auto key = [&](const char* name, uint32_t value) {
    source.set(std::string("llama.") + name, value);
  };
  key("block_count", shape.layers);
  key("embedding_length", shape.width);
  key("feed_forward_length", shape.ffn);
  key("context_length", shape.context);
  key("attention.head_count", shape.heads);
  key("attention.head_count_kv", shape.kv_heads);
  key("attention.key_length", shape.key_length);
  key("attention.value_length", shape.value_length);
  key("attention.sliding_window", shape.window);
  key("rope.dimension_count", shape.key_length / 2 * 2);
  auto matrix = [&](const std::string& name, uint32_t rows, uint32_t k, DType type) {
    source.add(name, {k, rows}, type);
  };
  matrix("token_embd.weight", shape.vocabulary, shape.width, shape.table_type);
  if (!shape.tied) matrix("output.weight", shape.vocabulary, shape.width, shape.table_type);
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    auto name = [&](const char* role) { return layer_tensor(layer, role); };
    source.add(name("attn_norm.weight"), {shape.width});
    matrix(name("attn_q.weight"), shape.heads * shape.key_length, shape.width, shape.type);
    matrix(name("attn_k.weight"), shape.kv_heads * shape.key_length, shape.width, shape.type);
    matrix(name("attn_v.weight"), shape.kv_heads * shape.value_length, shape.width, shape.type);
    matrix(name("attn_output.weight"), shape.width, shape.heads * shape.value_length, shape.type);
    source.add(name("ffn_norm.weight"), {shape.width});
    matrix(name("ffn_gate.weight"), shape.ffn, shape.width, shape.type);
    matrix(name("ffn_up.weight"), shape.ffn, shape.width, shape.type);
    matrix(name("ffn_down.weight"), shape.width, shape.ffn, shape.type);
  }
  source.add("output_norm.weight", {shape.width});
  return source;
}

// A source with its spec, which points into it.
class TestModel {
 public:
  explicit TestModel(TestSource source)
      : test_source_(std::move(source)),
        source_(test_source_.source()),
        spec_(make_spec(source_)) {}
  explicit TestModel(const LlamaShape& shape) : TestModel(llama_source(shape)) {}
  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  const ModelSource& source() const { return source_; }
  const ModelSpec& spec() const { return spec_; }

 private:
  TestSource test_source_;
  ModelSource source_;
  ModelSpec spec_;
};

}  // namespace hearth
