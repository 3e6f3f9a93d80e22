#include "hybrid/streamed_weights.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "hybrid/upload.h"

namespace hearth {

uint64_t largest_layer(std::span<const LayerRuns> layers, uint32_t first) {
  uint64_t most = 0;
  for (size_t layer = first; layer < layers.size(); ++layer) {
    most = std::max(most, layers[layer].bytes);
  }
  return most;
}

StreamedWeights::StreamedWeights(const Model& model, Accelerator& accelerator, uint32_t kept,
                                 uint32_t berths)
    : PassWeights(model),
      kept_(std::min(kept, static_cast<uint32_t>(model.spec().layers.size()))),
      runs_(layer_runs(model)),
      kept_places_(kept_) {
  std::vector<Upload> uploads;
  for (uint32_t i = 0; i < model.spec().weights.size(); ++i) {
    const WeightSpec& spec = model.spec().weights[i];
    if (!spec.is_matrix()) {
      const VectorWeight& weight = model.weights().vector(WeightId{i});
      uploads.push_back(
          {std::as_bytes(std::span(weight.copies[0], weight.size)), &vectors_[&weight]});
    } else if (spec.layer >= 0) {
      layers_[&model.weights().matrix(WeightId{i})] = static_cast<uint32_t>(spec.layer);
    }
  }
  buffers_ = upload_all(accelerator, uploads);
  for (uint32_t layer = 0; layer < kept_; ++layer) {
    const Buffer& buffer = buffers_.emplace_back(accelerator.allocate(runs_[layer].bytes));
    kept_places_[layer] = buffer.at();
    for (const LayerRun& run : runs_[layer].runs) {
      accelerator.write(buffer.at(run.offset), {run.first, run.bytes});
    }
  }
  if (kept_ == runs_.size()) return;
  HEARTH_CHECK(berths > 0, "layers that are not kept need a berth");
  const uint64_t bytes = largest_layer(runs_, kept_);
  for (uint32_t i = 0; i < berths; ++i) berths_.push_back(accelerator.allocate(bytes));
}

Place StreamedWeights::room(uint32_t layer) const {
  if (layer < kept_) return kept_places_[layer];
  return berths_[(layer - kept_) % berths_.size()].at();
}

ShardPlace StreamedWeights::shard(const Weight& weight, uint32_t s) const {
  const uint32_t layer = layers_.at(&weight);
  const auto run = std::ranges::find(runs_[layer].runs, s, &LayerRun::shard);
  HEARTH_CHECK(run != runs_[layer].runs.end(), "the shard has some of the weight");
  const Shard& shard = weight.shards[s];
  const Place first = room(layer) + run->offset;
  const auto at = [&](const std::byte* bytes) {
    return first + static_cast<uint64_t>(bytes - run->first);
  };
  return {at(shard.codes), shard.spec.scales_bytes() == 0 ? Place{} : at(shard.scales)};
}

}  // namespace hearth
