#include "formats/hf_made.h"

#include <utility>

#include "formats/code_packs.h"
#include "tensor/dtype.h"

namespace hearth {

bool HfMade::has_rows(const SafeTensor& tensor) const {
  return tensor.dtype || stored.codes_of(tensor) != nullptr;
}

SourceTensor& HfMade::push(const SafeTensor& like, std::string gguf, std::vector<uint64_t> dims) {
  SourceTensor tensor = {};
  tensor.name = out.names.emplace_back(std::move(gguf));
  const StoredCodes* codes = stored.codes_of(like);
  tensor.type_known = like.dtype || codes != nullptr;
  if (like.dtype) tensor.dtype = *like.dtype;
  if (codes != nullptr) tensor.dtype = code_dtype(*codes);
  tensor.type_text = like.dtype ? dtype_info(*like.dtype).name : like.type;
  tensor.n_elements = 1;
  for (uint64_t dim : dims) tensor.n_elements *= dim;
  tensor.dims = std::move(dims);
  tensor.part = stored.part_of(like);
  tensor.offset = like.offset;
  return out.tensors.emplace_back(std::move(tensor));
}

void HfMade::add_plain(const SafeTensor& tensor, const std::string& gguf) {
  std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
  if (dims.empty()) dims = {1};
  SourceTensor& made = push(tensor, gguf, std::move(dims));
  if (!has_rows(tensor)) return;
  if (!tensor.dtype || tensor.dtype == DType::kF8E4M3) {
    made.runs.push_back(stored.run_of(tensor));
  } else {
    made.data = stored.bytes_of(tensor);
  }
}

void HfMade::set_copy(SourceTensor& made, std::vector<std::byte> bytes) {
  made.data = out.data.emplace_back(std::move(bytes));
  made.part = kNoPart;
}

void HfMade::set_f32(SourceTensor& made, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  made.dtype = DType::kF32;
  made.type_known = true;
  made.type_text = "f32";
  set_copy(made, {bytes.begin(), bytes.end()});
}

}  // namespace hearth
