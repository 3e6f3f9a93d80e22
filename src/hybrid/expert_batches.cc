#include "hybrid/expert_batches.h"

#include <algorithm>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

// The bytes that a shard has of one expert, which lie together.
struct Run {
  uint32_t expert;
  const std::byte *begin, *end;
};

Run run_of(uint32_t number, const ExpertWeights& expert, uint32_t s) {
  Run run{number, expert.gate->shards[s].codes, nullptr};
  for (const Weight* weight : {expert.gate, expert.up, expert.down}) {
    const Shard& shard = weight->shards[s];
    run.end = std::max<const std::byte*>({run.end, shard.codes + shard.spec.codes_bytes(),
                                          shard.scales + shard.spec.scales_bytes()});
  }
  return run;
}

// Returns the experts of batch `i` when `experts` neighbours are divided as evenly as possible into
// the fewest batches of at most `most`.
UnitRange even_part(uint32_t experts, uint32_t most, uint32_t i) {
  const uint32_t parts = (experts - 1) / most + 1;
  return {experts * i / parts, experts * (i + 1) / parts};
}

class Batches {
 public:
  explicit Batches(uint32_t most) : most_(most) {}

  // Adds the batches of a segment, whose experts have these `count` runs.
  void add(uint32_t shard, uint32_t segment, const Run* runs, uint32_t count) {
    for (uint32_t i = 0, done = 0; done < count; ++i) {
      const UnitRange part = even_part(count, most_, i);
      ExpertBatch& batch = all_.emplace_back();
      batch.shard = shard;
      batch.segment = segment;
      batch.first = runs[part.begin].begin;
      batch.bytes = static_cast<uint64_t>(runs[part.end - 1].end - batch.first);
      batch.stride = round_up(runs[part.begin].end - runs[part.begin].begin, kExpertAlign);
      for (uint32_t e = part.begin; e < part.end; ++e) {
        HEARTH_CHECK(runs[e].begin == batch.first + batch.stride * (e - part.begin),
                     "experts that are neighbours lie so");
        batch.experts.push_back(runs[e].expert);
      }
      done = part.end;
    }
  }
  std::vector<ExpertBatch> take() { return std::move(all_); }

 private:
  uint32_t most_;
  std::vector<ExpertBatch> all_;
};

}  // namespace

std::vector<ExpertWeights> experts_of(const WeightTable& table, const ExpertsBlock& block) {
  std::vector<ExpertWeights> experts;
  for (const ExpertsBlock::Expert& of : block.experts) {
    experts.push_back({&table.matrix(of.gate), &table.matrix(of.up), &table.matrix(of.down)});
  }
  return experts;
}

std::vector<ExpertBatch> expert_batches(const Model& model, uint32_t layer, uint32_t most) {
  const auto* block = model.spec().block<ExpertsBlock>(layer);
  if (block == nullptr) return {};
  const std::vector<ExpertWeights> experts = experts_of(model.weights(), *block);
  const AxisCuts cuts = expert_cuts(experts);
  Batches batches(most);
  for (uint32_t s = 0; s < cuts.shard_count(); ++s) {
    std::vector<Run> runs;
    for (uint32_t e = 0; e < experts.size(); ++e) {
      const PackSpec& spec = experts[e].down->shards[s].spec;
      if (spec.rows > 0 && spec.k > 0) runs.push_back(run_of(e, experts[e], s));
    }
    const uint32_t first = cuts.shard(s).begin;
    for (uint32_t i = 0; i < cuts.segments(s).size(); ++i) {
      const UnitRange& segment = cuts.segments(s)[i];
      batches.add(s, i, runs.data() + (segment.begin - first), segment.size());
    }
  }
  return batches.take();
}

}  // namespace hearth
