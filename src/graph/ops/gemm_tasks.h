// Says how linear ops cut a shard's panels and a step's rows into tasks, and by which schedules
// (graph/schedule_table.h). Sizes that a schedule leaves open have their defaults here.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/builder.h"
#include "graph/context.h"
#include "graph/ops/linear.h"
#include "graph/ops/weight_work.h"
#include "tensor/weight.h"

namespace hearth {

// Rows of activations per task: enough to pay for unpacking a panel, and few enough that the tile
// stays in the second-level cache.
inline constexpr uint32_t kTaskRows = 256;
// Panels per task at most, so that a tile of kTaskRows has a fixed size (128 KiB).
inline constexpr uint32_t kTaskPanels = 8;

// Returns how many threads of a group share the work on one shard.
inline uint32_t threads_per_shard(const PlanGroup& group) {
  uint32_t shards = group.share.shard_end - group.share.shard_begin;
  return std::max(1u, group.size() / std::max(1u, shards));
}

// The most rows with which products are bound by memory. With so few rows tasks are short, so that
// threads end together. Consecutive tasks that a thread claims are one kernel call, so that few
// streams begin.
inline constexpr uint32_t kFewRows = 16;
inline constexpr uint32_t kJoinedPanels = 64;

// Returns the panels of a task if `threads` threads share `panels` of them, in steps of at most
// `max_rows` rows. With many rows tasks are long, but leave each thread 16 for balance, and have at
// least about 64 KiB of codes, so that claiming one costs little beside it.
inline uint32_t task_panels(const PackSpec& spec, uint32_t panels, uint32_t threads,
                            uint32_t max_rows) {
  if (max_rows <= kFewRows) {
    return std::clamp(panels / (4 * threads) / 2 * 2, 2u, kGemmStreams);
  }
  size_t least = (size_t{64} << 10) / std::max<size_t>(spec.codes_panel_bytes(), 1);
  size_t most = panels / (16 * threads);
  return static_cast<uint32_t>(std::clamp<size_t>(std::max(least, most) / 2 * 2, 2, kTaskPanels));
}

// The panels of a task for a shard of column-cut weights, whose K is short.
inline constexpr uint32_t kColumnTaskPanels = 4;
inline uint32_t column_task_panels(const PackSpec& spec, uint32_t threads, uint32_t max_rows) {
  return std::min(kColumnTaskPanels, task_panels(spec, spec.panels(), threads, max_rows));
}

// The settings by which an op cuts its products into tasks.
struct Cutting {
  const ScheduleTable& schedules;
  uint32_t threads;   // that share a shard
  uint32_t max_rows;  // of a step

  ProductShape product(const PackSpec& spec, uint32_t panels, uint32_t k) const {
    return {spec.kind, panels * kPanelRows, k, threads};
  }
  // Returns the product of `matrices` matrices of `panels` each, side by side: heads (`experts` is
  // 0), or those of `experts` experts that a row takes.
  ScheduledProduct side_by_side(const PackSpec& spec, uint32_t panels, uint32_t matrices,
                                uint32_t experts, uint32_t task_panels) const {
    ProductShape shape = product(spec, panels, spec.blocks() * kBlock);
    shape.matrices = matrices;
    shape.of_experts = experts;
    const uint32_t most = std::min<uint32_t>(task_panels, kTaskPanelsRange.most);
    return {schedules, {.shape = shape, .task_panels = static_cast<uint16_t>(most)}};
  }
};

inline Cutting cutting_of(const GraphBuilder& builder, uint32_t group) {
  return {builder.schedules(), threads_per_shard(builder.plan().groups[group]),
          builder.plan().max_rows};
}

// Returns the products of a group's rows of weights that read one input ([weight][local shard]), by
// local shard and weight. All weights together are one product on a shard, and each has a share of
// it.
inline std::vector<ProductShape> row_products(const std::vector<const Weight*>& weights,
                                              const std::vector<std::vector<RowSlice>>& slices,
                                              const Cutting& cutting) {
  std::vector<ProductShape> shapes;
  for (size_t local_shard = 0; local_shard < slices[0].size(); ++local_shard) {
    uint32_t panels = 0;
    for (const std::vector<RowSlice>& part : slices) panels += part[local_shard].panels;
    for (size_t w = 0; w < weights.size(); ++w) {
      const PackSpec& spec = weights[w]->shards[slices[w][local_shard].shard].spec;
      shapes.push_back(cutting.product(spec, panels, spec.blocks() * kBlock));
    }
  }
  return shapes;
}

struct PanelRange {
  uint32_t panel0, panels;

  // Appends `next` if it follows the range and both together are not too long. Returns whether it
  // did.
  bool join(const PanelRange& next) {
    if (next.panel0 != panel0 + panels || panels + next.panels > kJoinedPanels) return false;
    panels += next.panels;
    return true;
  }
};

// Cuts [panel0, panel0 + panels) into tasks of `step` panels.
inline std::vector<PanelRange> panel_ranges(uint32_t panel0, uint32_t panels, uint32_t step) {
  std::vector<PanelRange> ranges;
  for (uint32_t p = 0; p < panels; p += step) {
    ranges.push_back({panel0 + p, std::min(step, panels - p)});
  }
  return ranges;
}

// Returns the part of a weight's bias that belongs to panels of a shard, without padding. `bias`
// holds [weight.rows], or one such vector for each of several weights, of which this is number
// `index`.
inline std::span<const float> bias_of(const VectorWeight& bias, const Weight& weight,
                                      uint32_t shard, const PanelRange& panels,
                                      uint32_t index = 0) {
  const size_t first = weight.shards[shard].row0 + size_t{panels.panel0} * kPanelRows;
  const size_t columns = std::min<size_t>(size_t{panels.panels} * kPanelRows, weight.rows - first);
  return {bias.copies[shard] + size_t{index} * weight.rows + first, columns};
}

// Returns the kernel of SwiGLU, plain or with limits; null for other activations.
inline auto swiglu_of(const Kernels& kernels, Activation activation) {
  return activation == Activation::kSilu            ? kernels.silu_mul
         : activation == Activation::kClampedSwiglu ? kernels.clamped_swiglu
                                                    : nullptr;
}

// Sets gate = activation(gate) * up, n elements each.
inline void activate_gate(const Kernels& kernels, Activation activation, float* gate,
                          const float* up, uint32_t n) noexcept {
  if (const auto swiglu = swiglu_of(kernels, activation)) return swiglu({gate, up, n, gate});
  const auto gelu = activation == Activation::kGelu ? kernels.gelu : kernels.gelu_tanh;
  gelu({gate, nullptr, up, n, gate});
}

// Adds the bias to m rows, `stride` floats apart.
inline void add_bias(const Kernels& kernels, std::span<const float> bias, uint32_t m, float* out,
                     size_t stride) noexcept {
  const auto n = static_cast<uint32_t>(bias.size());
  for (uint32_t r = 0; r < m; ++r, out += stride) {
    kernels.add_vectors({out, bias.data(), nullptr, n, out});
  }
}

// An op's tasks in steps of up to max_rows rows.
template <typename Task>
struct TaskList {
  uint32_t max_rows = kAnyRows;
  uint32_t task_rows = kTaskRows;
  std::vector<std::vector<Task>> tasks;  // by local shard

  // Applies a schedule's number of rows of a task. If the op has several products, the smallest of
  // their numbers counts.
  void limit_rows(const GemmSchedule& s) {
    if (s.task_rows == 0) return;
    task_rows = scheduled ? std::min<uint32_t>(task_rows, s.task_rows) : s.task_rows;
    scheduled = true;
  }
  bool scheduled = false;  // whether task_rows comes from a schedule
};

// Calls run(task, row, m) for each task and each range of up to task_rows rows that the calling
// thread claims. claim(count) returns the next numbers below `count`, several in a row. So a kernel
// that prefetches beyond its panels prefetches panels that its thread reads next. With few rows,
// neighbouring tasks that can be joined (Task::join) are one call.
template <typename Task, typename Claim, typename Run>
void run_tasks(const std::vector<Task>& tasks, uint32_t rows, uint32_t task_rows,
               const Claim& claim, const Run& run) noexcept {
  uint32_t row_parts = (rows + task_rows - 1) / task_rows;
  auto count = static_cast<uint32_t>(tasks.size()) * row_parts;
  for (ChunkClaim claimed; (claimed = claim(count)).begin < count;) {
    for (uint32_t t = claimed.begin; t < claimed.end; ++t) {
      Task task = tasks[t / row_parts];
      if (rows <= kFewRows) {
        while (t + 1 < claimed.end && task.join(tasks[t + 1])) ++t;
      }
      const uint32_t row = t % row_parts * task_rows;
      run(task, row, std::min(task_rows, rows - row));
    }
  }
}

// The base of ops that multiply with weights: it holds the tasks of every local shard, which
// threads claim from a counter of that shard, and the work of the weights.
template <typename Task>
class GemmOp : public Op {
 public:
  uint32_t counters() const override { return static_cast<uint32_t>(lists_[0].tasks.size()); }
  std::vector<ProductUse> products() const override {
    std::vector<ProductUse> uses;
    for (const ProductShape& shape : products_) uses.push_back({shape, segments(), of_outputs()});
    return uses;
  }
  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const uint32_t rows = task_rows(context);
    if (rows == 0) return;
    size_t i = 0;
    while (step_rows(context) > lists_[i].max_rows) ++i;
    const TaskList<Task>& list = lists_[i];
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      auto claim = [&](uint32_t count) {
        return context.claim_several(sync.counter0 + local_shard, count, threads_);
      };
      run_tasks(list.tasks[local_shard], rows, list.task_rows, claim,
                [&](const Task& task, uint32_t row, uint32_t m) {
                  run_task(context, task, row, m, worker);
                });
    }
  }

 protected:
  // Makes an op that looks up no schedules: one list of tasks, empty as yet.
  GemmOp(ValueId x, size_t local_shards, uint32_t threads) : x_(x), lists_(1), threads_(threads) {
    lists_[0].tasks.resize(local_shards);
  }
  // Makes an op that looks schedules up: it has a list of tasks for each range of rows within which
  // no product's schedule changes.
  GemmOp(ValueId x, size_t local_shards, const Cutting& cutting, std::vector<ProductShape> products)
      : x_(x), threads_(cutting.threads), products_(std::move(products)) {
    for (uint32_t bound : cutting.schedules.row_bounds(products_)) {
      lists_.emplace_back().max_rows = bound;
      lists_.back().tasks.resize(local_shards);
    }
  }
  // The members of ProductUse that all products of the op share.
  virtual uint32_t segments() const { return 1; }
  virtual bool of_outputs() const { return false; }
  // step_rows(): the rows by which schedules are looked up. task_rows(): the rows that are cut into
  // tasks.
  virtual uint32_t step_rows(const ExecutionContext& context) const noexcept {
    return context.rows(x_);
  }
  virtual uint32_t task_rows(const ExecutionContext& context) const noexcept {
    return step_rows(context);
  }
  // Computes rows [row, row + m) of a task.
  virtual void run_task(ExecutionContext& context, const Task& task, uint32_t row, uint32_t m,
                        const Worker& worker) const noexcept = 0;

  ValueId x_;
  std::vector<TaskList<Task>> lists_;  // by their most rows
  uint32_t threads_;                   // that share a local shard
  std::vector<ProductShape> products_;
  WeightWork work_;
};

inline const GemmKernel& gemm_for(const ExecutionContext& context, const Weight& weight) {
  return context.kernels().gemm[static_cast<size_t>(weight.type.kind)];
}

inline ActFormat format_for(const Weight& weight) { return act_format_for(weight.type.kind); }

// Returns the bytes of an element of the input, in all formats that the weights' kernels read.
inline double input_bytes(const std::vector<const Weight*>& weights) {
  uint8_t formats = 0;
  for (const Weight* weight : weights) {
    formats |= static_cast<uint8_t>(1u << static_cast<unsigned>(format_for(*weight)));
  }
  return act_element_bytes_of(formats);
}

// Returns the bytes of an element of a value, in all formats that its readers ask for.
inline double written_bytes(const Graph& graph, ValueId value) {
  return act_element_bytes_of(graph.values[value].formats);
}

}  // namespace hearth
