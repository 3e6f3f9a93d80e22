#include "formats/hf_stored.h"

#include <fmt/ranges.h>

#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

constexpr std::string_view kScales = "_scale_inv";

}  // namespace

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

bool HfStored::is_scales(std::string_view name) { return name.ends_with(kScales); }

const SafeTensor* HfStored::find(std::string_view name) const {
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second.tensor;
}

uint32_t HfStored::part_of(const SafeTensor& tensor) const {
  return by_name_.find(tensor.name)->second.part;
}

std::span<const std::byte> HfStored::bytes_of(const SafeTensor& tensor) const {
  return files_[part_of(tensor)].bytes().subspan(tensor.offset, tensor.bytes);
}

SourceRun HfStored::run_of(const SafeTensor& tensor) {
  if (tensor.shape.size() != 2) fail_tensor(tensor.name, "is no matrix");
  SourceRun run = {};
  run.stored = {*tensor.dtype,    tensor.shape[0], tensor.shape[1],
                bytes_of(tensor), part_of(tensor), tensor.offset};
  if (tensor.dtype == DType::kF8E4M3) run.scales = scales_of(tensor);
  return run;
}

StoredMatrix HfStored::scales_of(const SafeTensor& tensor) {
  auto at = by_name_.find(tensor.name + std::string(kScales));
  if (at == by_name_.end()) {
    fail_tensor(tensor.name, "is F8_E4M3, but its scales '{}{}' are missing", tensor.name, kScales);
  }
  const SafeTensor& scales = *at->second.tensor;
  at->second.used = true;
  auto blocks = [](uint64_t n) { return n / kFp8ScaleBlock + (n % kFp8ScaleBlock != 0); };
  const std::vector<uint64_t> wanted = {blocks(tensor.shape[0]), blocks(tensor.shape[1])};
  if (scales.shape != wanted) {
    fail_tensor(scales.name, "is {}, where {} scales of 128 x 128 elements are needed",
                fmt::join(scales.shape, " x "), fmt::join(wanted, " x "));
  }
  if (!scales.dtype || scales.dtype == DType::kF8E4M3) {
    fail_tensor(scales.name, "is stored as {}, where F32, BF16 or F16 is needed", scales.type);
  }
  return {*scales.dtype, wanted[0], wanted[1], bytes_of(scales), part_of(scales), scales.offset};
}

void HfStored::leave_scales(const SafeTensor& tensor) {
  auto scales = by_name_.find(tensor.name + std::string(kScales));
  if (scales != by_name_.end()) scales->second.used = true;
}

void HfStored::check_scales_used() const {
  for (const auto& [name, stored] : by_name_) {
    if (!is_scales(name) || stored.used) continue;
    fail_tensor(name, "holds scales of a tensor that is not F8_E4M3, or is missing");
  }
}

}  // namespace hearth
