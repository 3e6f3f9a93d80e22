#include "models/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"
#include "models/shard_tasks.h"

namespace hearth {
namespace {

constexpr size_t kWeightAlign = 64;

// Some panels of one shard of one weight.
struct PackTask {
  size_t entry;
  uint32_t panel0, panels;
  size_t file_bytes;
};

}  // namespace

const GgufTensor& WeightStore::tensor(const std::string& name, uint32_t rows, uint32_t k) const {
  const GgufTensor& tensor = file_.require_tensor(name);
  bool vector = rows == 1 && tensor.dims.size() == 1 && tensor.dims[0] == k;
  bool matrix = tensor.dims.size() == 2 && tensor.dims[0] == k && tensor.dims[1] == rows;
  if (!vector && !matrix) {
    std::string found;
    for (uint64_t dim : tensor.dims) found += fmt::format("{}{}", found.empty() ? "" : " x ", dim);
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {}, but the file's metadata calls for {} x {}: the file is damaged or "
         "its metadata was edited",
         file_.name(), name, found, k, rows);
  }
  return tensor;
}

const Weight& WeightStore::matrix(const std::string& name, uint32_t rows, uint32_t k, CutBy cut,
                                  const AxisCuts& cuts, uint32_t unit) {
  auto known = by_name_.find(name);
  if (known != by_name_.end()) {
    const Weight& weight = known->second->weight;
    HEARTH_CHECK(weight.rows == rows && weight.k == k && weight.cut == cut && weight.cuts == &cuts,
                 "a weight is declared the same way each time");
    return weight;
  }
  const GgufTensor& source = tensor(name, rows, k);
  entries_.push_back(std::make_unique<Entry>(
      Entry{cut_weight(name, source.dtype, rows, k, cut, cuts, unit), &source}));
  by_name_[name] = entries_.back().get();
  return entries_.back()->weight;
}

const VectorWeight& WeightStore::vector(const std::string& name, uint32_t n) {
  auto known = vectors_.find(name);
  if (known != vectors_.end()) return known->second.weight;
  const GgufTensor& source = tensor(name, 1, n);
  std::vector<float> values(n);
  dequantize_row(source.dtype, source.data.data(), n, values.data());
  return vectors_.emplace(name, VectorEntry{{n, {}}, std::move(values)}).first->second.weight;
}

const VectorWeight* WeightStore::vector_or_null(const std::string& name, uint32_t n) {
  return has(name) ? &vector(name, n) : nullptr;
}

std::unique_ptr<WeightStore> WeightStore::copy() const {
  auto store = std::make_unique<WeightStore>(file_);
  for (const auto& entry : entries_) {
    store->entries_.push_back(std::make_unique<Entry>(*entry));
    store->by_name_[entry->weight.name] = store->entries_.back().get();
  }
  store->vectors_ = vectors_;
  return store;
}

void WeightStore::check_all_used() const {
  for (const GgufTensor& tensor : file_.tensors()) {
    std::string name(tensor.name);
    bool used = by_name_.count(name) || vectors_.count(name);
    // Frequencies: read with the configuration, or a table that older converters wrote and the
    // configuration gives as well.
    bool frequencies = name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight") ||
                       name.ends_with(".attn_rot_embd");
    if (!used && !frequencies) {
      fail(ErrorCode::kUnsupported,
           "'{}' has a tensor {} that its architecture does not use here: the text would be wrong",
           file_.name(), name);
    }
  }
}

size_t WeightStore::shard_bytes(uint32_t s) const {
  size_t bytes = 0;
  for (const auto& entry : entries_) {
    const PackSpec& spec = entry->weight.shards[s].spec;
    bytes +=
        round_up(spec.codes_bytes(), kWeightAlign) + round_up(spec.scales_bytes(), kWeightAlign);
  }
  for (const auto& [name, vector] : vectors_) {
    bytes += round_up(vector.weight.size * sizeof(float), kWeightAlign);
  }
  return bytes;
}

size_t WeightStore::file_bytes() const {
  size_t bytes = 0;
  for (const auto& entry : entries_) bytes += entry->tensor->n_bytes();
  return bytes;
}

void WeightStore::load_vectors(std::vector<Arena>& arenas) {
  for (auto& [name, vector] : vectors_) {
    size_t bytes = vector.weight.size * sizeof(float);
    for (Arena& arena : arenas) {
      std::byte* copy = arena.allocate(bytes, kWeightAlign);
      std::memcpy(copy, vector.values.data(), bytes);
      vector.weight.copies.push_back(reinterpret_cast<const float*>(copy));
    }
    vector.values = {};
  }
}

void WeightStore::load(Team& team, const std::vector<uint32_t>& member_shards,
                       std::vector<Arena>& arenas, const Report& report) {
  load_vectors(arenas);
  std::vector<std::vector<PackTask>> tasks(arenas.size());
  std::vector<std::atomic<uint32_t>> left(entries_.size());
  for (size_t e = 0; e < entries_.size(); ++e) {
    Weight& weight = entries_[e]->weight;
    for (size_t s = 0; s < arenas.size(); ++s) {
      Shard& shard = weight.shards[s];
      if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
      shard.codes = arenas[s].allocate(shard.spec.codes_bytes(), kWeightAlign);
      shard.scales = arenas[s].allocate(shard.spec.scales_bytes(), kWeightAlign);
      size_t panel_bytes =
          entries_[e]->tensor->n_bytes() / weight.rows * kPanelRows * shard.spec.k / weight.k;
      auto step = static_cast<uint32_t>(
          std::clamp<size_t>(kShardTaskBytes / std::max<size_t>(panel_bytes, 1), 1, 1u << 16));
      for (uint32_t p = 0; p < shard.spec.panels(); p += step) {
        uint32_t panels = std::min(step, shard.spec.panels() - p);
        tasks[s].push_back({e, p, panels, panels * panel_bytes});
        left[e].fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  std::atomic<size_t> done{0};
  auto pack = [&](size_t s, const PackTask& task) noexcept {
    Entry& entry = *entries_[task.entry];
    const Shard& shard = entry.weight.shards[s];
    size_t stride = entry.tensor->n_bytes() / entry.weight.rows;
    pack_panels(shard.spec, entry.weight.dtype, entry.tensor->data.data() + shard.row0 * stride,
                stride, task.panel0, task.panels, shard.codes, shard.scales);
    done.fetch_add(task.file_bytes, std::memory_order_relaxed);
    if (left[task.entry].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      file_.release(*entry.tensor);
    }
  };
  std::vector<size_t> counts;
  for (const std::vector<PackTask>& of_shard : tasks) counts.push_back(of_shard.size());
  run_shard_tasks(team, member_shards, counts, [&](uint32_t member, size_t s, size_t t) noexcept {
    pack(s, tasks[s][t]);
    if (member == 0) report(std::min(done.load(std::memory_order_relaxed), file_bytes()));
  });
}

}  // namespace hearth
