#include "hybrid/streamed_weights.h"

#include <algorithm>
#include <iterator>
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

StreamedWeights::StreamedWeights(const Model& model, Accelerator& accelerator,
                                 const StreamedRoom& room)
    : PassWeights(model), room_(room) {
  const auto layers = static_cast<uint32_t>(model.spec().layers.size());
  room_.kept = std::min(room.kept, layers);
  lay_out_parts(model);
  upload_vectors(model, accelerator);
  keep(accelerator);
  if (room_.kept < layers) make_berths(accelerator);
}

void StreamedWeights::lay_out_parts(const Model& model) {
  const std::vector<LayerRuns> rest = layer_runs(model);
  for (uint32_t layer = 0; layer < rest.size(); ++layer) {
    std::vector<Held>& parts = parts_.emplace_back();
    parts.push_back({rest[layer].runs, {}});
    batches_.push_back(expert_batches(model, layer, room_.max_experts(layer)));
    for (const ExpertBatch& batch : batches_.back()) {
      parts.push_back({{{batch.shard, batch.first, batch.bytes, 0}}, {}});
    }
  }
}

void StreamedWeights::upload_vectors(const Model& model, Accelerator& accelerator) {
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
}

void StreamedWeights::keep(Accelerator& accelerator) {
  std::vector<Held*> kept;
  std::vector<uint64_t> bytes;
  for (uint32_t layer = 0; layer < room_.kept; ++layer) {
    const bool is_last = layer + 1 == parts_.size();
    for (Held& part : std::span(parts_[layer]).first(is_last ? 1 : parts_[layer].size())) {
      kept.push_back(&part);
      bytes.push_back(part.bytes());
    }
  }
  const std::vector<Place> places = allocate_together(accelerator, bytes, &buffers_);
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i]->room = places[i];
    for (const LayerRun& run : kept[i]->runs) {
      accelerator.write(places[i] + run.offset, {run.first, run.bytes});
    }
  }
}

// Makes the berths and the order of loads. The rest of a layer is all of it except routed experts.
// With three or more berths for rests, a layer's rest is copied before the experts of the layer
// before it. At that time two more berths are in use: one by the layer before, and one by the layer
// before that, whose experts may not be multiplied yet. With fewer berths, a layer's rest is copied
// just before its own experts.
void StreamedWeights::make_berths(Accelerator& accelerator) {
  const auto layers = static_cast<uint32_t>(parts_.size());
  const bool experts =
      std::ranges::any_of(std::span(batches_).subspan(room_.kept, layers - room_.kept - 1),
                          [](const std::vector<ExpertBatch>& of) { return !of.empty(); });
  HEARTH_CHECK(room_.berths > 0, "layers that are not kept need a berth");
  HEARTH_CHECK(!experts || room_.ring > 0, "experts that are not kept need a ring");
  if (!experts) room_.ring = 0;
  load_numbers_.resize(layers);
  // The plan counts one size for all berths of a kind: that of the largest part.
  uint64_t rest_bytes = 1, batch_bytes = 1;
  const auto add = [&](const LayerPart& part, uint32_t berth) {
    uint64_t& bytes = part.batch ? batch_bytes : rest_bytes;
    bytes = std::max(bytes, held(part).bytes());
    load_numbers_[part.layer].push_back(loads_.size());
    loads_.push_back({part, berth});
  };
  const uint32_t ahead = room_.berths > 2 ? 1 : 0;
  uint32_t rest = room_.kept;
  for (uint32_t layer = room_.kept; layer < layers; ++layer) {
    for (; rest <= std::min(layer + ahead, layers - 1); ++rest) {
      add({rest}, (rest - room_.kept) % room_.berths);
    }
    const auto count = static_cast<uint32_t>(layer + 1 < layers ? batches_[layer].size() : 0);
    // lay_ring() gives batches their berths.
    for (uint32_t batch = 0; batch < count; ++batch) add({layer, batch}, 0);
  }
  if (experts) ring_berth_bytes_ = batch_bytes;
  std::vector<uint64_t> bytes(room_.berths, rest_bytes);
  bytes.insert(bytes.end(), room_.ring, batch_bytes);
  berths_ = allocate_together(accelerator, bytes, &buffers_);
  lay_ring({});
}

void StreamedWeights::lay_ring(std::span<const Place> more) {
  size_t longest = room_.ring;
  for (const auto& batches : std::span(batches_).subspan(room_.kept)) {
    longest = std::max(longest, batches.size());
  }
  const auto ring = static_cast<uint32_t>(std::min(room_.ring + more.size(), longest));
  berths_.resize(room_.berths + room_.ring);
  std::ranges::copy(more.first(ring - room_.ring), std::back_inserter(berths_));
  uint32_t in_ring = 0;
  for (Load& load : loads_) {
    if (load.part.batch) load.berth = room_.berths + in_ring++ % ring;
    parts_[load.part.layer][index_of(load.part)].room = berths_[load.berth];
  }
}

std::optional<size_t> StreamedWeights::load_of(const LayerPart& part) const {
  if (part.layer < room_.kept) return {};
  return load_numbers_[part.layer][index_of(part)];
}

ShardPlace StreamedWeights::shard(const Weight& weight, uint32_t s) const {
  const Shard& shard = weight.shards[s];
  for (const Held& part : parts_[layers_.at(&weight)]) {
    const auto run = std::ranges::find_if(part.runs, [&](const LayerRun& of) {
      return of.shard == s && shard.codes >= of.first && shard.codes < of.first + of.bytes;
    });
    if (run == part.runs.end()) continue;
    const auto at = [&](const std::byte* bytes) {
      return part.room + run->offset + static_cast<uint64_t>(bytes - run->first);
    };
    return {at(shard.codes), shard.spec.scales_bytes() == 0 ? Place{} : at(shard.scales)};
  }
  HEARTH_CHECK(false, "the shard has some of the weight");
  return {};
}

}  // namespace hearth
