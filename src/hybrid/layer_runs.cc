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

// The ranges that a shard's matrices of a layer take, apart from its routed experts: those before
// the experts, and those after them.
struct Ranges {
  std::vector<Range> all;
  bool parted = true;  // the next matrix begins a new range

  void take_in(const Shard& shard) {
    if (parted) all.emplace_back();
    parted = false;
    all.back().take_in(shard.codes, shard.spec.codes_bytes());
    all.back().take_in(shard.scales, shard.spec.scales_bytes());
  }
};

std::vector<std::vector<Ranges>> ranges_of(const Model& model) {
  const ModelSpec& spec = model.spec();
  const uint32_t shards = model.weights().shard_count();
  std::vector<std::vector<Ranges>> ranges(spec.layers.size(), std::vector<Ranges>(shards));
  for (uint32_t i = 0; i < spec.weights.size(); ++i) {
    const WeightSpec& of = spec.weights[i];
    if (!of.is_matrix() || of.layer < 0) continue;
    const Weight& weight = model.weights().matrix(WeightId{i});
    for (uint32_t s = 0; s < shards; ++s) {
      const Shard& shard = weight.shards[s];
      if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
      Ranges& range = ranges[static_cast<size_t>(of.layer)][s];
      if (of.expert >= 0 || (of.cut == WeightCut::kReplicated && s > 0)) {
        range.parted = true;
      } else {
        range.take_in(shard);
      }
    }
  }
  return ranges;
}

}  // namespace

std::vector<LayerRuns> layer_runs(const Model& model) {
  const uint32_t shards = model.weights().shard_count();
  const std::vector<std::vector<Ranges>> ranges = ranges_of(model);
  std::vector<LayerRuns> layers(ranges.size());
  std::vector<const std::byte*> ends(shards, nullptr);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    LayerRuns& of = layers[layer];
    for (uint32_t s = 0; s < shards; ++s) {
      for (const Range& range : ranges[layer][s].all) {
        HEARTH_CHECK(range.begin >= ends[s],
                     "a layer's matrices lie together, behind those before");
        ends[s] = range.end;
        const auto bytes = static_cast<uint64_t>(range.end - range.begin);
        of.runs.push_back({s, range.begin, bytes, of.bytes});
        of.bytes += round_up(bytes, kAlign);
      }
    }
  }
  return layers;
}

}  // namespace hearth
