// Makes importance matrices for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/importance.h"
#include "formats/model_source.h"

namespace hearth {

// Makes weights for all matrices of the source for which has(name): columns weigh from 1/4 to 64,
// in no order. The second matrix of a tensor with several was never used.
template <typename Has>
std::shared_ptr<const Importance> made_importance(const ModelSource& source, const Has& has) {
  GgufWriter writer;
  writer.set("imatrix.datasets", std::vector<std::string>{"made.txt"});
  writer.set("imatrix.chunk_count", 3u);
  uint32_t state = 1;
  for (const SourceTensor& tensor : source.tensors()) {
    if (tensor.dims.size() < 2 || !has(tensor.name)) continue;
    const uint64_t matrices = tensor.rows() / tensor.matrix_rows();
    std::vector<float> sums(tensor.dims[0] * matrices), counts(matrices, 8);
    for (float& sum : sums) {
      state = state * 1664525 + 1013904223;
      sum = static_cast<float>(1u << (state >> 29)) * static_cast<float>(1 + (state >> 28) % 2) / 4;
    }
    if (matrices > 1) counts[1] = 0;
    const std::string name(tensor.name);
    writer.add_tensor(name + ".in_sum2", {tensor.dims[0], matrices}, sums);
    writer.add_tensor(name + ".counts", {1, matrices}, counts);
  }
  return std::make_shared<const Importance>(MappedFile::own(writer.finish(), "made.imatrix"));
}

}  // namespace hearth
