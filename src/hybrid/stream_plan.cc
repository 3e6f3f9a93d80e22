#include "hybrid/stream_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/round_up.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/layer_runs.h"
#include "hybrid/pass_pages.h"
#include "hybrid/prefill_step.h"
#include "hybrid/streamed_weights.h"
#include "models/walk.h"

namespace hearth {
namespace {

// Texts of a pass whose last pages are not full.
constexpr uint32_t kPassTexts = 64;

// Weights that lie nowhere, to find out what else a pass needs.
class NoWeights : public PassWeights {
 public:
  using PassWeights::PassWeights;
  ShardPlace shard(const Weight& weight, uint32_t s) const override {
    const bool scales = weight.shards[s].spec.scales_bytes() > 0;
    return {{0, 0}, scales ? Place{0, 0} : Place{}};
  }
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : Place{0, 0};
  }
  bool has_tables() const override { return false; }
};

uint32_t pass_pages(const PassTarget& target, uint32_t rows) {
  return pages_for(target.context) + pages_for(rows) + kPassTexts;
}

// What a pass of so many rows computes, laid out, and the bytes of its values.
std::pair<PassCommands, uint64_t> commands_of(const PassTarget& target, uint32_t rows) {
  const Model& model = *target.model;
  const LargestPass largest(target.context, rows);
  const PassPages pages(*target.kv, model.weights().shard_count(), {0, 0},
                        pass_pages(target, rows));
  PassCommands commands(false);
  const NoWeights weights(model);
  const PrefillPages to{&pages, largest.step().first_pages()};
  AcceleratorLayers builder(weights, target.context, largest.step().view(), &commands, &to);
  walk_model(model.spec(), builder);
  const uint64_t values = commands.lay_out();
  return {std::move(commands), values};
}

// Bytes of values and inputs of a pass of so many rows.
uint64_t row_bytes(const PassTarget& target, uint32_t rows) {
  const auto [commands, values] = commands_of(target, rows);
  return values + commands.input_bytes();
}

// Bytes of values and inputs, which grow by the row.
class RowBytes {
 public:
  explicit RowBytes(const PassTarget& target)
      : few_(row_bytes(target, kFew)), more_(row_bytes(target, 2 * kFew) - few_) {}
  uint64_t of(uint32_t rows) const { return few_ + more_ * (std::max(rows, kFew) - kFew) / kFew; }

 private:
  static constexpr uint32_t kFew = 64;
  uint64_t few_, more_;  // of so many, and of as many more
};

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

}  // namespace

StreamPlan plan_stream(const PassTarget& target, const AcceleratorFacts& facts,
                       const StreamPlanOptions& options) {
  const std::vector<LayerRuns> runs = layer_runs(*target.model);
  const auto layers = static_cast<uint32_t>(runs.size());
  const uint64_t memory = memory_for(facts, options), vectors = vector_bytes(*target.model);
  const RowBytes row_bytes(target);
  const auto plan_of = [&](uint32_t rows, uint32_t kept) {
    StreamPlan plan{.rows = rows,
                    .pages = pass_pages(target, rows),
                    .kept = kept,
                    .berths = std::min(options.berths, layers - kept),
                    .berth_bytes = largest_layer(runs, kept),
                    .page_bytes = bytes_of_pages(target, rows)};
    plan.pass_bytes = row_bytes.of(rows) + plan.page_bytes + vectors;
    for (uint32_t layer = 0; layer < kept; ++layer) plan.kept_bytes += runs[layer].bytes;
    return plan;
  };
  const uint32_t kept = std::min(options.kept.value_or(0), layers);
  const bool asked = options.rows != 0;
  // There are never more tokens than pages hold.
  const uint64_t useful =
      std::max<uint64_t>(kLeastPassRows, uint64_t{target.kv->page_count()} * kPagePositions);
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(kUsualPassRows, useful));
  StreamPlan plan = plan_of(asked ? options.rows : most, kept);
  const auto too_long = [&] {
    return std::max(plan.pass_bytes - plan.page_bytes, plan.page_bytes) > facts.allocation_bytes;
  };
  while (!asked && (plan.bytes() > memory || too_long()) && plan.rows > kLeastPassRows) {
    plan = plan_of(std::max(kLeastPassRows, plan.rows / 2), kept);
  }
  if (plan.bytes() > memory || too_long()) {
    const bool by_asking = asked || options.kept || options.memory != 0;
    fail(by_asking ? ErrorCode::kUsage : ErrorCode::kResource,
         "passes of {} rows, {} of them for pages of a context of {}, {} layers kept and {} berths "
         "take {}, and {} has {} for them, {} in one piece: take a GPU with more memory, a shorter "
         "context, or fewer rows or layers",
         plan.rows, bytes_text(plan.page_bytes), target.context, kept, plan.berths,
         bytes_text(plan.bytes()), facts.name, bytes_text(memory),
         bytes_text(facts.allocation_bytes));
  }
  for (uint32_t more = kept + 1; !options.kept && more <= layers; ++more) {
    const StreamPlan next = plan_of(plan.rows, more);
    if (next.bytes() > memory) break;
    plan = next;
  }
  return plan;
}

PassKernels pass_kernels(const PassTarget& target) {
  PassKernels kernels;
  const auto add = [](auto* all, const auto& one) {
    if (std::ranges::count(*all, one) == 0) all->push_back(one);
  };
  const PassCommands commands = commands_of(target, kLeastPassRows).first;
  for (const CommandList& list : commands.layers_in({0, 1})) {
    for (const Command& command : list.commands) {
      const auto& call = std::get<KernelCall>(command.work);
      if (const auto* product = std::get_if<GemmCall>(&call)) {
        add(&kernels.kinds, product->spec.kind);
      } else {
        add(&kernels.contracts, contract_name(call));
      }
    }
  }
  return kernels;
}

std::string stream_plan_text(const StreamPlan& plan, uint32_t layers) {
  std::string text =
      fmt::format("passes of {} rows, {} of {} layers kept", plan.rows, plan.kept, layers);
  if (plan.berths > 0) {
    text +=
        fmt::format(", {} berths of {} for the others", plan.berths, bytes_text(plan.berth_bytes));
  }
  return text + fmt::format(", {} in all", bytes_text(plan.bytes()));
}

}  // namespace hearth
