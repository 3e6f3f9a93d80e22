#include "formats/hf_stored.h"

#include <fmt/ranges.h>

#include <optional>

#include "formats/hf_codes.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

std::vector<uint64_t> without_ones(std::vector<uint64_t> shape) {
  std::erase(shape, uint64_t{1});
  return shape;
}

// Returns the grid of an FP8 matrix's scales, which are one for each block, for each row, or for
// all. Dimensions of 1 are ignored. None if the shape fits no grid.
std::optional<std::pair<uint64_t, uint64_t>> scale_grid(const std::vector<uint64_t>& scales,
                                                        const std::vector<uint64_t>& matrix) {
  const uint64_t rows = matrix[0], one = 1;
  const std::pair<uint64_t, uint64_t> grids[] = {
      {fp8_scale_blocks(rows), fp8_scale_blocks(matrix[1])}, {rows, one}, {one, one}};
  for (const auto& [n, k] : grids) {
    if (scales == std::vector{n, k}) return std::pair(n, k);
  }
  // A single dimension counts rows, if it equals the number of rows.
  for (const auto& [n, k] : {grids[1], grids[0], grids[2]}) {
    if (without_ones(scales) == without_ones({n, k})) return std::pair(n, k);
  }
  return std::nullopt;
}

}  // namespace

HfStored::HfStored(const std::vector<MappedFile>& files,
                   const std::vector<std::vector<SafeTensor>>& tensors, const std::string& name,
                   const HfQuant& quant, std::deque<StoredCodes>* codes)
    : files_(files), name_(name), quant_(quant) {
  for (uint32_t part = 0; part < tensors.size(); ++part) {
    for (const SafeTensor& tensor : tensors[part]) {
      auto [at, added] = by_name_.insert({tensor.name, {&tensor, part}});
      if (added) continue;
      fail_tensor(tensor.name, "is in both '{}' and '{}'", files_[at->second.part].name(),
                  files_[part].name());
    }
  }
  if (quant_.method.empty()) return;
  for (const std::vector<SafeTensor>& of_part : tensors) add_linears(of_part, codes);
}

void HfStored::add_linears(const std::vector<SafeTensor>& tensors, std::deque<StoredCodes>* codes) {
  for (const SafeTensor& tensor : tensors) {
    unused_ += hf_role(tensor.name) == HfRole::kUnused;
    if (!holds_codes(tensor, *this)) continue;
    const uint32_t part = part_of(tensor);
    HfLinear made = make_hf_linear(tensor, quant_, *this);
    SafeTensor& linear = linears_.emplace_back(tensor);
    linear.name = hf_whole_name(tensor.name);
    linear.type = made.codes.name;
    linear.dtype.reset();
    linear.shape = std::move(made.shape);
    linear.elements = made.codes.rows * made.codes.k;
    const StoredCodes* kept = &codes->emplace_back(made.codes);
    const auto [at, added] = by_name_.insert({linear.name, {}});
    if (!added && at->second.tensor != &tensor) {
      fail_tensor(linear.name, "is there as well as '{}', which holds its quantised codes",
                  printable(tensor.name));
    }
    at->second = {&linear, part, false, kept};
  }
}

bool HfStored::is_part(std::string_view name) const {
  constexpr std::string_view kWeight = ".weight";
  if (!quant_.method.empty()) return hf_role(name) != HfRole::kWhole;
  if (name.ends_with(kHfBlockScales)) return true;
  if (!name.ends_with(kHfScales)) return false;
  const std::string_view scaled = name.substr(0, name.size() - kHfScales.size());
  return scaled.ends_with(kWeight) && find(scaled) != nullptr;
}

const SafeTensor* HfStored::whole(const SafeTensor& tensor) const {
  if (is_part(tensor.name)) return nullptr;
  return quant_.method.empty() ? &tensor : find(hf_whole_name(tensor.name));
}

const SafeTensor* HfStored::find(std::string_view name) const {
  auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second.tensor;
}

const SafeTensor* HfStored::take(std::string_view name) {
  auto at = by_name_.find(name);
  if (at == by_name_.end()) return nullptr;
  at->second.used = true;
  return at->second.tensor;
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

const StoredCodes* HfStored::codes_of(const SafeTensor& tensor) const {
  return by_name_.find(tensor.name)->second.codes;
}

// Returns the matrix of a tensor with two dimensions.
StoredMatrix HfStored::matrix_of(const Entry& entry) const {
  const SafeTensor& of = *entry.tensor;
  return {*of.dtype, of.shape[0], of.shape[1], bytes_of(entry), entry.part, of.offset};
}

SourceRun HfStored::run_of(const SafeTensor& tensor) {
  const Entry& entry = by_name_.find(tensor.name)->second;
  SourceRun run = {};
  if (entry.codes != nullptr) {
    run.stored.part = entry.part;
    run.stored.offset = tensor.offset;
    run.codes = entry.codes;
    return run;
  }
  if (tensor.shape.size() != 2) fail_tensor(tensor.name, "is not a matrix");
  run.stored = matrix_of(entry);
  if (tensor.dtype == DType::kF8E4M3) run.scales = scales_of(tensor);
  return run;
}

SourceRun HfStored::stack_of(const SafeTensor& tensor) const {
  const Entry& entry = by_name_.find(tensor.name)->second;
  SourceRun run = {};
  run.stored = {*tensor.dtype,   tensor.shape[0] * tensor.shape[1],
                tensor.shape[2], bytes_of(entry),
                entry.part,      tensor.offset};
  return run;
}

StoredMatrix HfStored::scales_of(const SafeTensor& tensor) {
  const std::string blocks = tensor.name + std::string(kHfBlockScales),
                    others = tensor.name + std::string(kHfScales);
  const bool has_others = take(others) != nullptr;
  if (take(blocks) == nullptr && !has_others) {
    fail_tensor(tensor.name, "is F8_E4M3, but its scales '{}' are missing", printable(blocks));
  }
  if (has_others && find(blocks) != nullptr) {
    fail_tensor(tensor.name, "has two sets of scales, '{}' and '{}'", printable(blocks),
                printable(others));
  }
  const Entry& entry = by_name_.find(has_others ? others : blocks)->second;
  const SafeTensor& scales = *entry.tensor;
  const auto grid = scale_grid(scales.shape, tensor.shape);
  if (!grid) {
    fail_tensor(scales.name,
                "is {} instead of {} x {} scales (one for 128 x 128 elements), {} scales (one a "
                "row), or one scale",
                fmt::join(scales.shape, " x "), fp8_scale_blocks(tensor.shape[0]),
                fp8_scale_blocks(tensor.shape[1]), tensor.shape[0]);
  }
  if (!scales.dtype || scales.dtype == DType::kF8E4M3) {
    fail_tensor(scales.name, "is stored as {} instead of F32, BF16 or F16", scales.type);
  }
  return {*scales.dtype, grid->first, grid->second, bytes_of(entry), entry.part, scales.offset};
}

void HfStored::leave_scales(const SafeTensor& tensor) {
  for (std::string_view ending : {kHfBlockScales, kHfScales}) {
    take(tensor.name + std::string(ending));
  }
}

void HfStored::check_parts_used() const {
  for (const auto& [name, stored] : by_name_) {
    if (stored.used || !is_part(name) || hf_role(name) == HfRole::kUnused) continue;
    if (quant_.method.empty()) {
      fail_tensor(name, "holds scales of a tensor that is not F8_E4M3, or is missing");
    }
    fail_tensor(name, "belongs to no tensor that can have such a part");
  }
}

}  // namespace hearth
