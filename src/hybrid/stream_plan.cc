#include "hybrid/stream_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/round_up.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/expert_batches.h"
#include "hybrid/layer_runs.h"
#include "hybrid/pass_pages.h"
#include "hybrid/prefill_step.h"
#include "hybrid/streamed_weights.h"
#include "models/walk.h"

namespace hearth {
namespace {

// How many texts of a pass may each need one page more, since their last page is not full.
constexpr uint32_t kPassTexts = 64;

// Weights that have places but no memory, for finding out how much memory a pass needs beside them.
class NoWeights : public PassWeights {
 public:
  NoWeights(const Model& model, const StreamedRoom& room) : PassWeights(model) {
    for (uint32_t layer = 0; layer < model.spec().layers.size(); ++layer) {
      batches_.push_back(expert_batches(model, layer, room.max_experts(layer)));
    }
  }
  ShardPlace shard(const Weight& weight, uint32_t s) const override {
    const bool scales = weight.shards[s].spec.scales_bytes() > 0;
    return {{0, 0}, scales ? Place{0, 0} : Place{}};
  }
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : Place{0, 0};
  }
  std::span<const ExpertBatch> batches(uint32_t layer) const override { return batches_[layer]; }
  bool has_tables() const override { return false; }

 private:
  std::vector<std::vector<ExpertBatch>> batches_;  // by layer
};

uint32_t pass_pages(const PassTarget& target, uint32_t rows) {
  return pages_for(target.context) + pages_for(rows) + kPassTexts;
}

// Returns the commands of a pass over so many rows.
PassCommands commands_of(const PassTarget& target, uint32_t rows, const StreamedRoom& room) {
  const Model& model = *target.model;
  const LargestPass largest(target.context, rows);
  const PassPages pages(*target.kv, model.weights().shard_count(), {0, 0},
                        pass_pages(target, rows));
  PassCommands commands(false);
  const NoWeights weights(model, room);
  const PrefillPages to{&pages, largest.step().first_pages()};
  AcceleratorLayers builder(weights, target.context, largest.step().view(), &commands, &to);
  walk_model(model.spec(), builder);
  return commands;
}

uint64_t bytes_of_pages(const PassTarget& target, uint32_t rows) {
  const Model& model = *target.model;
  return PassPages::bytes(*target.kv, model.weights().shard_count(),
                          static_cast<uint32_t>(model.spec().layers.size()),
                          pass_pages(target, rows));
}

uint64_t vector_bytes(const Model& model) {
  uint64_t bytes = 0;
  for (const WeightSpec& weight : model.spec().weights) {
    if (!weight.is_matrix()) bytes += round_up(uint64_t{weight.k} * sizeof(float), 256);
  }
  return bytes;
}

uint64_t memory_for(const AcceleratorFacts& facts, const StreamPlanOptions& options) {
  if (options.memory != 0) return options.memory;
  return (facts.free_bytes != 0 ? facts.free_bytes : facts.memory_bytes) / 10 * 9;
}

// The sizes of a layer's experts. A piece is what one shard has of one expert.
struct LayerExperts {
  uint32_t pieces = 0;   // how many there are
  uint32_t segment = 0;  // the most in one segment
  uint64_t largest = 0;  // bytes of the largest piece
  uint64_t bytes = 0;    // of all pieces
  uint32_t used = 0;     // experts that a row chooses
  uint64_t widest = 0;   // bytes of the longest row of one product

  void grow_to(const LayerExperts& other) {
    pieces = std::max(pieces, other.pieces);
    segment = std::max(segment, other.segment);
    largest = std::max(largest, other.largest);
    used = std::max(used, other.used);
    widest = std::max(widest, other.widest);
  }
};

// Returns the sizes by layer. The last layer has none, since a pass never multiplies its experts.
std::vector<LayerExperts> experts_of_layers(const Model& model) {
  std::vector<LayerExperts> layers(model.spec().layers.size());
  for (uint32_t layer = 0; layer + 1 < layers.size(); ++layer) {
    LayerExperts& of = layers[layer];
    const auto* block = model.spec().block<ExpertsBlock>(layer);
    if (block == nullptr) continue;
    of.used = block->rule.used;
    const ExpertsBlock::Expert& one = block->experts[0];
    for (const WeightId id : {one.gate, one.up, one.down}) {
      const uint64_t floats = round_up(model.weights().matrix(id).rows, kPanelRows);
      of.widest = std::max(of.widest, floats * sizeof(float));
    }
    for (const ExpertBatch& segment : expert_batches(model, layer, UINT32_MAX)) {
      const auto count = static_cast<uint32_t>(segment.experts.size());
      of.pieces += count;
      of.segment = std::max(of.segment, count);
      of.largest = std::max(of.largest, segment.stride);
      of.bytes += segment.bytes;
    }
  }
  return layers;
}

class Planner {
 public:
  Planner(const PassTarget& target, const AcceleratorFacts& facts, const StreamPlanOptions& options)
      : target_(target),
        facts_(facts),
        options_(options),
        memory_(memory_for(facts, options)),
        vectors_(vector_bytes(*target.model)),
        runs_(layer_runs(*target.model)),
        experts_(experts_of_layers(*target.model)) {}

  uint32_t layers() const { return static_cast<uint32_t>(runs_.size()); }
  // Returns the largest of each size in layers [begin, end).
  LayerExperts largest(uint32_t begin, uint32_t end) const {
    LayerExperts most;
    for (uint32_t layer = begin; layer < end; ++layer) most.grow_to(experts_[layer]);
    return most;
  }

  // Returns the number of pieces of all layers from `kept` on.
  uint32_t pieces_from(uint32_t kept) const {
    uint32_t pieces = 0;
    for (uint32_t layer = kept; layer < layers(); ++layer) pieces += experts_[layer].pieces;
    return pieces;
  }

  StreamPlan of(uint32_t rows, uint32_t kept, uint32_t ring) {
    StreamPlan plan{.rows = rows,
                    .pages = pass_pages(target_, rows),
                    .kept = kept,
                    .berth_bytes = largest_layer(runs_, kept),
                    .page_bytes = bytes_of_pages(target_, rows)};
    const LayerExperts most = largest(kept, layers());
    const uint32_t usual = most.pieces > 0 ? 3 : 2;
    plan.berths = std::min(options_.berths > 0 ? options_.berths : usual, layers() - kept);
    const LayerExperts of_kept = largest(0, kept);
    if (of_kept.pieces > 0) plan.kept_batch = batch_of(of_kept, of_kept.segment, rows);
    if (most.pieces > 0) {
      // A ring needs no more berths than all pieces together, but always at least two batches.
      ring = std::min(ring, std::max(pieces_from(kept), kMinRing));
      plan.expert_batch = batch_of(most, std::max(ring / 2, 1u), rows);
      plan.expert_bytes = most.largest;
      plan.experts = std::max(ring / plan.expert_batch, 1u) * plan.expert_batch;
      plan.ring_grows = options_.ring_grows;
    }
    const RowMemory of_rows = row_memory(plan);
    plan.pass_bytes = of_rows.bytes + plan.page_bytes + vectors_;
    plan.min_piece =
        std::max({of_rows.min_piece, plan.page_bytes, largest_layer(runs_, 0),
                  plan.expert_bytes * plan.expert_batch, of_kept.largest * plan.kept_batch});
    for (uint32_t layer = 0; layer < kept; ++layer) {
      plan.kept_bytes += runs_[layer].bytes + experts_[layer].bytes;
    }
    return plan;
  }

  // Returns the plan with its exact pass_bytes. So far they were too high if kept and streamed
  // layers have batches of different sizes: row_memory() assumes the size that needs more memory
  // for all layers.
  StreamPlan exact(StreamPlan plan) const {
    if (!differ(plan)) return plan;
    plan.pass_bytes = laid_out(plan.rows, room_of(plan)).bytes + plan.page_bytes + vectors_;
    return plan;
  }

  bool has_memory(const StreamPlan& plan) const { return plan.bytes() <= memory_; }
  bool has_pieces(const StreamPlan& plan) const {
    return plan.min_piece <= facts_.allocation_bytes;
  }
  bool fits(const StreamPlan& plan) const { return has_memory(plan) && has_pieces(plan); }

  [[noreturn]] void refuse(const StreamPlan& plan) const {
    const bool by_asking =
        options_.rows != 0 || options_.kept || options_.experts || options_.memory != 0;
    const std::string buffers =
        plan.experts > 0
            ? fmt::format(" of {} for other layers and {} of {} for experts",
                          bytes_text(plan.berth_bytes), plan.experts, bytes_text(plan.expert_bytes))
            : " for other layers";
    fail(by_asking ? ErrorCode::kUsage : ErrorCode::kResource,
         "passes of {} rows ({} for KV cache pages of a context of {}), {} kept layers and {} "
         "buffers{} need {}, {} of it in one piece, but {} has only {} free, at most {} of it in "
         "one piece: use a GPU with more memory, a shorter context, or fewer rows{} or layers",
         plan.rows, bytes_text(plan.page_bytes), target_.context, plan.kept, plan.berths, buffers,
         bytes_text(plan.bytes()), bytes_text(plan.min_piece), facts_.name, bytes_text(memory_),
         bytes_text(facts_.allocation_bytes), plan.experts > kMinRing ? ", experts" : "");
  }

 private:
  // The memory that values and inputs take.
  struct RowMemory {
    uint64_t bytes = 0;
    uint64_t min_piece = 0;  // the shortest piece that fits each of them

    void grow_to(const RowMemory& other) {
      bytes = std::max(bytes, other.bytes);
      min_piece = std::max(min_piece, other.min_piece);
    }
  };

  // Lays a pass out to find how much memory it takes. There is no formula for that: it is the
  // highest of many sums, and only some of them grow with the rows.
  RowMemory laid_out(uint32_t rows, const StreamedRoom& room) const {
    PassCommands commands = commands_of(target_, rows, room);
    const PassLayout& layout = commands.lay_out(facts_.allocation_bytes);
    const uint64_t inputs = commands.held_bytes() + commands.made_bytes();
    return {std::accumulate(layout.pieces.begin(), layout.pieces.end(), inputs),
            std::max({layout.min_piece(), commands.held_bytes(), commands.made_bytes()})};
  }

  // Whether kept and streamed layers both have experts, but in batches of different sizes.
  static bool differ(const StreamPlan& plan) {
    return plan.kept_batch > 0 && plan.expert_batch > 0 && plan.kept_batch != plan.expert_batch;
  }

  // Returns the memory that a pass takes if batches of all layers have one size. If the plan has
  // two sizes, it returns the larger of the two results.
  RowMemory row_memory(const StreamPlan& plan) {
    const auto of_all = [&](uint32_t batch) {
      const auto [at, fresh] = row_memory_.try_emplace({plan.rows, batch});
      if (fresh) at->second = laid_out(plan.rows, {.expert_batch = batch});
      return at->second;
    };
    if (!differ(plan)) return of_all(std::max(plan.kept_batch, plan.expert_batch));
    RowMemory most = of_all(plan.kept_batch);
    most.grow_to(of_all(plan.expert_batch));
    return most;
  }

  // Returns how many experts a batch has. It must not be few: copies of few bytes do not use a link
  // fully, and products of few experts do not use a card fully. But one piece must have room for
  // what a batch computes from all rows, each of which chooses an expert at most once.
  uint32_t batch_of(const LayerExperts& of, uint32_t most, uint32_t rows) const {
    constexpr uint64_t kBatchBytes = uint64_t{64} << 20;
    // Shaders index floats with 31 bits.
    constexpr uint64_t kReached = uint64_t{7} << 30;
    const uint64_t whole = (kBatchBytes + of.largest - 1) / of.largest;
    const uint64_t made = std::min(facts_.allocation_bytes, kReached) / (rows * of.widest);
    const uint64_t in_piece = made < of.used ? std::max<uint64_t>(made, 1) : UINT64_MAX;
    return static_cast<uint32_t>(std::min<uint64_t>({whole, most, of.segment, in_piece}));
  }

  const PassTarget& target_;
  const AcceleratorFacts& facts_;
  const StreamPlanOptions& options_;
  const uint64_t memory_, vectors_;
  const std::vector<LayerRuns> runs_;
  const std::vector<LayerExperts> experts_;
  std::map<std::pair<uint32_t, uint32_t>, RowMemory> row_memory_;  // by rows and experts of a batch
};

}  // namespace

StreamPlan plan_stream(const PassTarget& target, const AcceleratorFacts& facts,
                       const StreamPlanOptions& options) {
  Planner planner(target, facts, options);
  const uint32_t layers = planner.layers(), kept = std::min(options.kept.value_or(0), layers);
  const uint32_t ring = options.experts.value_or(kMinRing);
  const bool asked = options.rows != 0;
  // A pass never has more tokens than the KV cache holds.
  const uint64_t useful =
      std::max<uint64_t>(kMinPassRows, uint64_t{target.kv->page_count()} * kPagePositions);
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(kUsualPassRows, useful));
  StreamPlan plan = planner.of(asked ? options.rows : most, kept, ring);
  uint64_t no_piece = 0;
  while (!asked && !planner.fits(plan) && plan.rows > kMinPassRows) {
    no_piece = planner.has_memory(plan) ? plan.min_piece : 0;
    plan = planner.of(std::max(kMinPassRows, plan.rows / 2), kept, ring);
  }
  if (!planner.fits(plan)) planner.refuse(plan);
  const uint32_t all = planner.largest(kept, layers).pieces;
  for (uint32_t longer = all; !options.experts && longer > plan.experts; longer /= 2) {
    const StreamPlan next = planner.of(plan.rows, kept, longer);
    if (planner.fits(next)) plan = next;
  }
  const uint32_t chosen = std::max(plan.experts, ring);
  for (uint32_t more = kept + 1; !options.kept && more <= layers; ++more) {
    const StreamPlan next = planner.of(plan.rows, more, chosen);
    if (!planner.fits(next)) break;
    plan = next;
  }
  while (!planner.fits(planner.exact(plan)) && plan.kept > kept) {
    plan = planner.of(plan.rows, plan.kept - 1, chosen);
  }
  plan = planner.exact(plan);
  if (!planner.fits(plan)) planner.refuse(plan);
  plan.no_piece = no_piece;
  return plan;
}

StreamedRoom room_of(const StreamPlan& plan) {
  return {.kept = plan.kept,
          .berths = plan.berths,
          .ring = plan.experts == 0 ? 0 : plan.experts / std::max(plan.expert_batch, 1u),
          .expert_batch = plan.expert_batch,
          .kept_batch = plan.kept_batch};
}

PassKernels pass_kernels(const PassTarget& target) {
  PassKernels kernels;
  const auto add = [](auto* all, const auto& one) {
    if (std::ranges::count(*all, one) == 0) all->push_back(one);
  };
  PassCommands commands = commands_of(target, kMinPassRows, {.expert_batch = UINT32_MAX});
  commands.lay_out(UINT64_MAX);
  for (const PassCommands::Stage& stage : commands.stages_in({0, 1, {2}})) {
    for (const Command& command : stage.list.commands) {
      const auto& call = std::get<KernelCall>(command.work);
      if (const auto* product = std::get_if<GemmCall>(&call)) {
        add(&kernels.kinds, product->spec.kind);
      } else if (const auto* of_experts = std::get_if<ExpertGemmCall>(&call)) {
        add(&kernels.kinds, of_experts->spec.kind);
      } else {
        add(&kernels.contracts, contract_name(call));
      }
    }
  }
  return kernels;
}

std::string stream_plan_text(const StreamPlan& plan, uint32_t layers) {
  std::string text = fmt::format("passes of {} rows", plan.rows);
  if (plan.no_piece > 0) {
    text += fmt::format(" (more rows would need {} in one piece)", bytes_text(plan.no_piece));
  }
  text += fmt::format(", {} of {} layers kept", plan.kept, layers);
  if (plan.berths > 0) {
    text +=
        fmt::format(", {} berths of {} for the others", plan.berths, bytes_text(plan.berth_bytes));
  }
  if (plan.experts > 0) {
    text +=
        fmt::format(", a ring of {} experts of {}{}", plan.experts, bytes_text(plan.expert_bytes),
                    plan.ring_grows ? ", longer for fewer rows" : "");
  }
  return text + fmt::format(", {} in all", bytes_text(plan.bytes()));
}

}  // namespace hearth
