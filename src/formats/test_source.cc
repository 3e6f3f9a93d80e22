#include "formats/test_source.h"

#include <utility>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/vocab.h"

namespace hearth {

size_t tensor_bytes(const TestTensor& tensor) {
  size_t rows = 1;
  for (size_t d = 1; d < tensor.dims.size(); ++d) rows *= tensor.dims[d];
  return rows * row_bytes(tensor.type, tensor.dims[0]);
}

TestSource& TestSource::add(const std::string& name, std::vector<uint64_t> dims, DType type) {
  remove(name);
  tensors_.push_back({name, std::move(dims), type});
  return *this;
}

TestSource& TestSource::remove(const std::string& name) {
  std::erase_if(tensors_, [&](const TestTensor& tensor) { return tensor.name == name; });
  return *this;
}

std::vector<std::byte> TestSource::gguf() const {
  return gguf(
      [](const TestTensor& tensor) { return std::vector<std::byte>(tensor_bytes(tensor)); });
}

std::vector<std::byte> TestSource::gguf(const Fill& fill) const {
  GgufWriter writer = keys_;
  for (const TestTensor& tensor : tensors_) {
    writer.add_tensor(tensor.name, tensor.dims, tensor.type, fill(tensor));
  }
  return writer.finish();
}

ModelSource TestSource::source() {
  static constexpr SourceFormat kFormat{
      "test", [](const ModelSource&) { return false; },
      [](const ModelSource&) -> Vocab { fail(ErrorCode::kFile, "no vocabulary"); }};
  bytes_ = keys_.finish();
  std::vector<MappedFile> files;
  files.push_back(MappedFile::view(bytes_, "test.gguf"));
  std::vector<SourceTensor> tensors;
  for (const TestTensor& tensor : tensors_) {
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

}  // namespace hearth
