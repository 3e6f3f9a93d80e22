// The op of a layer of experts (graph/ops/experts.h), one instance a group.
#pragma once

#include <optional>
#include <vector>

#include "graph/ops/expert_tasks.h"
#include "graph/ops/experts.h"
#include "graph/ops/row_tasks.h"

namespace hearth {

// The layout of a thread's scratch: words that describe the step's tasks, then the tile, then the
// kernels' own scratch.
inline constexpr size_t kExpertWordBytes = size_t{64} << 10;
inline constexpr size_t kExpertTileBytes = kOpTileBytes - kExpertWordBytes;
// Bytes of the tile that the products of gate and up take.
inline constexpr size_t kExpertProductBytes = size_t{256} << 10;

// The schedules of the products of equal experts, by an expert's number of rows.
struct ScheduledExpert {
  ScheduledProduct gate, up, down;
};

// A group's part of the experts on one shard.
struct ExpertShard {
  uint32_t shard;
  ExpertUnits units;
  std::vector<uint32_t> segments;  // by routed unit, as the shard's axis numbers them
  struct Output {
    UnitRange segments;  // the segments that the output sums
    ValueId value;
  };
  std::vector<Output> outputs;
  ValueId shared_output = 0;              // used if units.shared
  bool adds_down_bias = true;             // true on the first shard with columns of down
  ValueId hidden = 0, shared_hidden = 0;  // what down reads: by place, and by row
  ExpertTasks::Shape shape;
  ScheduledExpert products, shared_products;
  WeightWork routed, all;  // of the routed experts; of the shared expert, which all rows take
};

class ExpertsOp : public Op {
 public:
  ExpertsOp(ValueId x, ValueId logits, ValueId choices, const ExpertLayer& layer,
            uint32_t bias_shard, const uint32_t* shared_gate, std::vector<ExpertShard> shards)
      : x_(x),
        logits_(logits),
        choices_(choices),
        layer_(layer),
        bias_shard_(bias_shard),
        shards_(std::move(shards)) {
    if (shared_gate != nullptr) shared_gate_ = *shared_gate;
  }

  // The counters: one for each shard's tasks, and one for rows to route.
  uint32_t counters() const override { return local_shards() + 1; }
  uint32_t flags() const override { return local_shards() * kExpertFlags + 2; }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    auto* words = reinterpret_cast<uint32_t*>(worker.scratch);
    const ExpertChoices choices = route(context, sync, &words);
    for (uint32_t i : context.local_shards(worker.member)) {
      const ExpertShard& of = shards_[i];
      const Run run{context, sync, worker,
                    choices, i,    cut_expert_tasks(of.units, of.shape, choices, words)};
      uint32_t* bases = words + task_words(of.units.count());
      const uint32_t count = run.tasks.count();
      for (ChunkClaim claimed;
           (claimed = context.claim_several(sync.counter0 + i, count, of.shape.threads)).begin <
           count;) {
        run_claim(run, claimed, bases);
      }
    }
  }

  std::vector<ProductUse> products() const override;
  OpLoad load(const StepSizes& step) const override;

  // Returns the choices of the context's last run, which had more than kFewRows rows. They are
  // valid until another node runs.
  ExpertChoices choices(const ExecutionContext& context) const {
    return choices_over(reinterpret_cast<uint32_t*>(context.f32(choices_)), context.rows(x_),
                        layer_.rule);
  }

 private:
  struct Run {
    ExecutionContext& context;
    const OpSync& sync;
    const Worker& worker;
    const ExpertChoices& choices;
    uint32_t local_shard;
    ExpertTasks tasks;
  };

  uint32_t local_shards() const { return static_cast<uint32_t>(shards_.size()); }
  uint32_t expert_flag(const Run& run, uint32_t flag) const {
    return run.sync.flag0 + run.local_shard + local_shards() * flag;
  }
  static const ScheduledExpert& products_of(const ExpertShard& of, uint32_t unit) {
    return of.units.is_shared(unit) ? of.shared_products : of.products;
  }
  const ExpertWeights& weights_of(const ExpertShard& of, uint32_t unit) const {
    return of.units.is_shared(unit) ? layer_.shared : layer_.experts[of.units.ids[unit]];
  }

  // Routes the step's rows, or waits until they are routed, and returns the choices. Takes memory
  // from *words, and advances *words past it.
  ExpertChoices route(ExecutionContext& context, const OpSync& sync,
                      uint32_t** words) const noexcept;
  void route_rows(const ExecutionContext& context, const ExpertChoices& choices,
                  const RowRange& rows, float* scratch) const noexcept;
  void run_claim(const Run& run, const ChunkClaim& claimed, uint32_t* bases) const noexcept;
  void run_up(const Run& run, const UpTask& task) const noexcept;
  ActView gather(const Run& run, const UpTask& task, const ColumnOrder& order, ActFormat format,
                 std::byte** tile) const noexcept;
  // Adds a routed expert's bias, if there is one, to rows of its panels' outputs.
  void add_own_bias(const Run& run, const VectorWeight* bias, const Weight& weight, uint32_t unit,
                    const PanelRange& panels, uint32_t rows, float* out) const noexcept;
  void multiply(const Run& run, const Weight& weight, const ScheduledProduct& product,
                const ActView& a, uint32_t rows, const PanelRange& panels,
                float* out) const noexcept;
  void run_down(const Run& run, const RowRange& rows, const PanelRange& panels,
                uint32_t* bases) const noexcept;
  void sum_rows(const Run& run, const RowRange& rows, const PanelRange& panels, const float* tile,
                const uint32_t* bases) const noexcept;

  ValueId x_, logits_, choices_;
  ExpertLayer layer_;
  uint32_t bias_shard_;                  // the shard whose copy of the bias is read
  std::optional<uint32_t> shared_gate_;  // the column of the shared expert's gate
  std::vector<ExpertShard> shards_;
};

}  // namespace hearth
