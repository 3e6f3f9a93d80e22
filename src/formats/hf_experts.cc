#include "formats/hf_experts.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace hearth {

void HfExperts::add_expert(const SafeTensor& tensor, const HfName& what) {
  const auto experts = static_cast<uint32_t>(made_.config[HfValue::kExperts]);
  if (what.expert >= experts) {
    made_.stored.fail_tensor(tensor.name, "belongs to an expert beyond the {} in config.json",
                             experts);
  }
  if (!made_.has_rows(tensor)) return made_.add_plain(tensor, tensor.name);
  if (!met_.insert(what.gguf).second) return;
  if (tensor.shape.size() != 2) made_.stored.fail_tensor(tensor.name, "is not a matrix");
  std::vector<SourceRun> runs;
  for (uint32_t e = 0; e < experts; ++e) {
    std::string name = tensor.name;
    name.replace(what.expert_at, std::to_string(what.expert).size(), std::to_string(e));
    const SafeTensor* expert = made_.stored.find(name);
    if (expert == nullptr)
      made_.stored.fail_tensor(name, "is missing, and is one of {} experts", experts);
    if (expert->shape != tensor.shape || expert->type != tensor.type) {
      made_.stored.fail_tensor(name, "has another shape or type than that of expert {}",
                               what.expert);
    }
    runs.push_back(made_.stored.run_of(*expert));
  }
  SourceTensor& made = made_.push(tensor, what.gguf, {tensor.shape[1], tensor.shape[0], experts});
  made.runs = std::move(runs);
  made.part = made.runs[0].stored.part;
  made.offset = made.runs[0].stored.offset;
}

void HfExperts::add_matrices(const SafeTensor& tensor, const std::string& name) {
  const uint64_t experts = made_.config[HfValue::kExperts];
  if (tensor.shape.size() != 3 || tensor.shape[0] != experts) {
    made_.stored.fail_tensor(tensor.name, "is {}, but config.json requires {} experts",
                             fmt::join(tensor.shape, " x "), experts);
  }
  made_.add_plain(tensor, name);
}

void HfExperts::add_stack(const SafeTensor& tensor, const std::string& name, uint64_t first,
                          uint32_t step) {
  const uint64_t experts = made_.config[HfValue::kExperts];
  const bool bias = name.ends_with(".bias");
  if (!bias && made_.stored.codes_of(tensor) == nullptr) {
    return add_transposed_stack(tensor, name, first, step);
  }
  if (tensor.shape.size() != (bias ? 2 : 3) || tensor.shape[0] != experts ||
      tensor.shape[1] % step != 0) {
    made_.stored.fail_tensor(tensor.name, "is {}, but config.json requires {} experts{}",
                             fmt::join(tensor.shape, " x "), experts,
                             step == 1 ? "" : " with pairs of rows");
  }
  if (bias) return add_stacked_bias(tensor, name, first, step);
  const uint64_t all = tensor.shape[1];
  SourceTensor& made = made_.push(tensor, name, {tensor.shape[2], all / step, experts});
  SourceRun run = made_.stored.run_of(tensor);
  run.step = step;
  for (uint64_t e = 0; e < experts; ++e) {
    run.first = e * all + first;
    made.runs.push_back(run);
  }
}

// Adds a part of one tensor of floats whose matrices lie transposed: [experts][k][rows].
void HfExperts::add_transposed_stack(const SafeTensor& tensor, const std::string& name,
                                     uint64_t first, uint32_t step) {
  const uint64_t experts = made_.config[HfValue::kExperts];
  if (!made_.has_rows(tensor)) return made_.add_plain(tensor, name);
  if (tensor.dtype == DType::kF8E4M3) {
    fail(ErrorCode::kUnsupported,
         "'{}': tensor '{}' holds the matrices of all experts as {}; this version reads them as "
         "MXFP4 (as the model was released), BF16, F16 and F32: download one of these",
         made_.name, printable(tensor.name), tensor.type);
  }
  if (tensor.shape.size() != 3 || tensor.shape[0] != experts || tensor.shape[2] % step != 0) {
    made_.stored.fail_tensor(tensor.name, "is {}, but config.json requires {} experts{}",
                             fmt::join(tensor.shape, " x "), experts,
                             step == 1 ? "" : " with pairs of columns");
  }
  const uint64_t k = tensor.shape[1];
  SourceTensor& made = made_.push(tensor, name, {k, tensor.shape[2] / step, experts});
  SourceRun run = made_.stored.stack_of(tensor);
  run.transposed = true;
  run.step = step;
  run.column = first;
  for (uint64_t e = 0; e < experts; ++e) {
    run.first = e * k;
    made.runs.push_back(run);
  }
}

void HfExperts::add_stacked_bias(const SafeTensor& tensor, const std::string& name, uint64_t first,
                                 uint32_t step) {
  if (!tensor.dtype || tensor.dtype == DType::kF8E4M3 || step == 1) {
    return made_.add_plain(tensor, name);
  }
  SourceTensor& made = made_.push(tensor, name, {tensor.shape[1] / step, tensor.shape[0]});
  const std::span<const std::byte> from = made_.stored.bytes_of(tensor);
  const size_t size = dtype_info(made.dtype).block_bytes;
  std::vector<std::byte> copy(from.size() / step);
  for (size_t i = 0; i * size < copy.size(); ++i) {
    std::memcpy(copy.data() + i * size, from.data() + (i * step + first) * size, size);
  }
  made_.set_copy(made, std::move(copy));
}

}  // namespace hearth
