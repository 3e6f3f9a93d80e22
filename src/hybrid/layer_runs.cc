#include "hybrid/layer_runs.h"

#include <algorithm>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kAlign = 256;

struct Range {
  const std::byte *begin = nullptr, *end = nullptr;

  void take_in(const std::byte* first, size_t bytes) {
    if (bytes == 0) return;
    begin = begin == nullptr ? first : std::min(begin, first);
    end = std::max(end, first + bytes);
  }
};

}  // namespace

std::vector<LayerRuns> layer_runs(const Model& model) {
  const ModelSpec& spec = model.spec();
  const uint32_t shards = model.weights().shard_count();
  std::vector<std::vector<Range>> ranges(spec.layers.size(), std::vector<Range>(shards));
  for (uint32_t i = 0; i < spec.weights.size(); ++i) {
    if (!spec.weights[i].is_matrix() || spec.weights[i].layer < 0) continue;
    const Weight& weight = model.weights().matrix(WeightId{i});
    for (uint32_t s = 0; s < shards; ++s) {
      const Shard& shard = weight.shards[s];
      if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
      Range& range = ranges[static_cast<size_t>(spec.weights[i].layer)][s];
      range.take_in(shard.codes, shard.spec.codes_bytes());
      range.take_in(shard.scales, shard.spec.scales_bytes());
    }
  }
  std::vector<LayerRuns> layers(spec.layers.size());
  std::vector<const std::byte*> ends(shards, nullptr);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    LayerRuns& of = layers[layer];
    for (uint32_t s = 0; s < shards; ++s) {
      const Range& range = ranges[layer][s];
      if (range.begin == nullptr) continue;
      HEARTH_CHECK(range.begin >= ends[s], "a layer's matrices lie together, behind those before");
      ends[s] = range.end;
      const auto bytes = static_cast<uint64_t>(range.end - range.begin);
      of.runs.push_back({s, range.begin, bytes, of.bytes});
      of.bytes += round_up(bytes, kAlign);
    }
  }
  return layers;
}

}  // namespace hearth
