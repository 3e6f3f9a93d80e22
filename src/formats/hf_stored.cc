#include "formats/hf_stored.h"

#include <fmt/ranges.h>

#include "tensor/pack_fp8.h"

namespace hearth {
HfStored::HfStored(const std::vector<MappedFile>& files,
                   const std::vector<std::vector<SafeTensor>>& tensors, const std::string& name)
    : files_(files), name_(name) {
  for (uint32_t part = 0; part < tensors.size(); ++part) {
    for (const SafeTensor& tensor : tensors[part]) {
      auto [at, added] = by_name_.insert({tensor.name, {&tensor, part}});
      if (added) continue;
      fail_tensor(tensor.name, "stands in '{}' and '{}'", files_[at->second.part].name(),
                  files_[part].name());
    }
  }
}

bool HfStored::is_scales(std::string_view name) { return name.ends_with(kHfScales); }

const SafeTensor* HfStored::find(std::string_view name) const {
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second.tensor;
}

uint32_t HfStored::part_of(const SafeTensor& tensor) const {
  return by_name_.find(tensor.name)->second.part;
}

std::span<const std::byte> HfStored::bytes_of(const Entry& entry) const {
  return files_[entry.part].bytes().subspan(entry.tensor->offset, entry.tensor->bytes);
}

std::span<const std::byte> HfStored::bytes_of(const SafeTensor& tensor) const {
  return bytes_of(by_name_.find(tensor.name)->second);
}

// Of a tensor of two dimensions.
StoredMatrix HfStored::matrix_of(const Entry& entry) const {
  const SafeTensor& of = *entry.tensor;
  return {*of.dtype, of.shape[0], of.shape[1], bytes_of(entry), entry.part, of.offset};
}

SourceRun HfStored::run_of(const SafeTensor& tensor) {
  if (tensor.shape.size() != 2) fail_tensor(tensor.name, "is no matrix");
  SourceRun run = {};
  run.stored = matrix_of(by_name_.find(tensor.name)->second);
  if (tensor.dtype == DType::kF8E4M3) run.scales = scales_of(tensor);
  return run;
}

StoredMatrix HfStored::scales_of(const SafeTensor& tensor) {
  auto at = by_name_.find(tensor.name + std::string(kHfScales));
  if (at == by_name_.end()) {
    fail_tensor(tensor.name, "is F8_E4M3, but its scales '{}{}' are missing", tensor.name,
                kHfScales);
  }
  const SafeTensor& scales = *at->second.tensor;
  at->second.used = true;
  const std::vector<uint64_t> wanted = {fp8_scale_blocks(tensor.shape[0]),
                                        fp8_scale_blocks(tensor.shape[1])};
  if (scales.shape != wanted) {
    fail_tensor(scales.name, "is {}, where {} scales of 128 x 128 elements are needed",
                fmt::join(scales.shape, " x "), fmt::join(wanted, " x "));
  }
  if (!scales.dtype || scales.dtype == DType::kF8E4M3) {
    fail_tensor(scales.name, "is stored as {}, where F32, BF16 or F16 is needed", scales.type);
  }
  return matrix_of(at->second);
}

void HfStored::leave_scales(const SafeTensor& tensor) {
  auto scales = by_name_.find(tensor.name + std::string(kHfScales));
  if (scales != by_name_.end()) scales->second.used = true;
}

void HfStored::check_scales_used() const {
  for (const auto& [name, stored] : by_name_) {
    if (!is_scales(name) || stored.used) continue;
    fail_tensor(name, "holds scales of a tensor that is not F8_E4M3, or is missing");
  }
}

}  // namespace hearth
