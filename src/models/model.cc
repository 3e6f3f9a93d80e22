#include "models/model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "models/pack_weight.h"
#include "models/shard_tasks.h"
#include "tensor/dtype.h"

namespace hearth {

namespace {

// A task: some panels of one shard of one matrix.
struct PackTask {
  size_t matrix;
  uint32_t panel0, panels;
  size_t source_bytes;
};

// Writes a vector's elements as f32 to `out`; for a table, column by column.
void read_vector(const WeightSpec& weight, float* out) {
  if (weight.table_columns == 0) {
    dequantize_row(weight.dtype, weight.bytes().data(), weight.k, out);
    return;
  }
  std::vector<float> rows(weight.k);
  dequantize_row(weight.dtype, weight.bytes().data(), weight.k, rows.data());
  const size_t columns = weight.table_columns, count = weight.k / columns;
  for (size_t r = 0; r < count; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * count + r] = rows[r * columns + c];
  }
}

}  // namespace

Model::Model(ModelSpec spec, const Machine& machine, ModelPlacement placement)
    : spec_(std::move(spec)),
      placement_(std::move(placement)),
      axes_(cut_axes(spec_, placement_.shares)),
      weights_(spec_, axes_, deal_experts(spec_, placement_.shares, placement_.experts)) {
  for (uint32_t s = 0; s < weights_.shard_count(); ++s) {
    arenas_.emplace_back(machine, placement_.shard_nodes[s], weights_.shard_bytes(s), "weights",
                         placement_.binding);
  }
}

void Model::load(const ModelSource& source, Team& team, const std::vector<uint32_t>& member_shards,
                 const Report& report) {
  double start = steady_seconds();
  load_vectors();
  if (const auto& of = spec_.embedding.per_layer) {
    weights_.set_token_rows(std::make_shared<FileRows>(source, *of->table));
  }
  load_matrices(source, team, member_shards, report);
  packing_seconds_ = steady_seconds() - start;
}

void Model::release_weights() {
  for (Weight& weight : weights_.matrices()) {
    for (Shard& shard : weight.shards) shard.codes = shard.scales = nullptr;
  }
  for (VectorWeight& vector : weights_.vectors()) vector.copies.clear();
  weights_.set_token_rows(nullptr);
  arenas_.clear();
}

void Model::place_matrix(Weight* matrix) {
  for (size_t s = 0; s < arenas_.size(); ++s) {
    Shard& shard = matrix->shards[s];
    if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
    shard.codes = arenas_[s].allocate(shard.spec.codes_bytes(), matrix->align);
    shard.scales = arenas_[s].allocate(shard.spec.scales_bytes(), kWeightAlign);
  }
}

void Model::lay_out() {
  for (VectorWeight& vector : weights_.vectors()) {
    for (Arena& arena : arenas_) {
      std::byte* copy = arena.allocate(vector.size * sizeof(float), kWeightAlign);
      vector.copies.push_back(reinterpret_cast<float*>(copy));
    }
  }
  for (Weight& matrix : weights_.matrices()) place_matrix(&matrix);
}

void Model::load_vectors() {
  auto vector = weights_.vectors().begin();
  for (const WeightSpec& weight : spec_.weights) {
    if (weight.is_matrix()) continue;
    for (Arena& arena : arenas_) {
      auto* copy = reinterpret_cast<float*>(arena.allocate(weight.k * sizeof(float), kWeightAlign));
      read_vector(weight, copy);
      if (!std::all_of(copy, copy + weight.k, [](float x) { return std::isfinite(x); })) {
        fail(ErrorCode::kFile,
             "'{}': tensor {} has a value that is infinite or NaN; download the model again",
             spec_.source, weight.name);
      }
      vector->copies.push_back(copy);
    }
    ++vector;
  }
}

void Model::load_matrices(const ModelSource& source, Team& team,
                          const std::vector<uint32_t>& member_shards, const Report& report) {
  std::vector<const WeightSpec*> specs;
  for (const WeightSpec& weight : spec_.weights) {
    if (weight.is_matrix()) specs.push_back(&weight);
  }
  std::vector<Weight>& matrices = weights_.matrices();
  std::vector<std::vector<PackTask>> tasks(arenas_.size());
  std::vector<std::atomic<uint32_t>> left(matrices.size());
  size_t scratch_bytes = 0;
  for (const WeightSpec* spec : specs) {
    scratch_bytes = std::max(scratch_bytes, pack_scratch_bytes(*spec));
  }
  // Each member has scratch of its own; the system maps it when it is touched.
  std::vector<std::unique_ptr<std::byte[]>> scratch(team.size());
  for (auto& own : scratch) own = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes);
  for (size_t m = 0; m < matrices.size(); ++m) {
    place_matrix(&matrices[m]);
    for (size_t s = 0; s < arenas_.size(); ++s) {
      const Shard& shard = matrices[m].shards[s];
      if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
      size_t panel_bytes =
          specs[m]->data->stored_row_bytes() * kPanelRows * shard.spec.k / specs[m]->k;
      auto step = static_cast<uint32_t>(
          std::clamp<size_t>(kShardTaskBytes / std::max<size_t>(panel_bytes, 1), 1, 1u << 16));
      for (uint32_t p = 0; p < shard.spec.panels(); p += step) {
        uint32_t panels = std::min(step, shard.spec.panels() - p);
        tasks[s].push_back({m, p, panels, panels * panel_bytes});
        left[m].fetch_add(1, std::memory_order_relaxed);
      }
    }
  }

  std::atomic<size_t> done{0};
  std::atomic<const WeightSpec*> damaged{nullptr};
  const size_t all = spec_.matrix_bytes();
  auto pack = [&](uint32_t member, size_t s, const PackTask& task) noexcept {
    const WeightSpec& spec = *specs[task.matrix];
    const Shard& shard = matrices[task.matrix].shards[s];
    if (!pack_weight_panels(spec, shard, task.panel0, task.panels, scratch[member].get())) {
      damaged.store(&spec, std::memory_order_relaxed);
    }
    done.fetch_add(task.source_bytes, std::memory_order_relaxed);
    if (left[task.matrix].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      source.release(*spec.data, spec.first, spec.rows);
    }
  };
  std::vector<size_t> counts;
  for (const std::vector<PackTask>& of_shard : tasks) counts.push_back(of_shard.size());
  run_shard_tasks(team, member_shards, counts, [&](uint32_t member, size_t s, size_t t) noexcept {
    pack(member, s, tasks[s][t]);
    if (member == 0) report(std::min(done.load(std::memory_order_relaxed), all));
  });
  if (const WeightSpec* bad = damaged.load(std::memory_order_relaxed)) {
    fail_scale(source.name(), bad->name);
  }
}

}  // namespace hearth
