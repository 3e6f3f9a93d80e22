#include "graph/ops/gated_conv.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

// The channels of a task, whole blocks of every activation format, and the rows computed at a time.
constexpr uint32_t kChannels = 128, kRows = 32;
static_assert((2 * kRows + kMaxConvTaps) * kChannels * sizeof(float) <= kOpTileBytes);

// The channels of one shard that a group works on, and their columns in its values.
struct ConvSlice {
  uint32_t shard;
  uint32_t begin, count;  // of the whole model
  uint32_t state;         // the first channel's index among the shard's channels
  uint32_t in_shard;      // channels of the shard
  uint32_t before, after, input;
  uint32_t out_column, out_element;  // of the output's ColumnSlice

  uint32_t tasks() const { return (count + kChannels - 1) / kChannels; }
};

// A task is an item and some channels, with all rows of the item.
class GatedConvOp : public Op {
 public:
  GatedConvOp(ValueId in, ValueId out, const ConvShape& shape, std::vector<ConvSlice> slices)
      : in_(in), out_(out), shape_(shape), slices_(std::move(slices)) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    for (const ConvSlice& slice : slices_) {
      const double bytes = 3 * sizeof(float) + written_bytes(step.graph, out_);
      load.shared_bytes += bytes * step.rows * slice.count;
      load.of_shard(slice.shard).kv +=
          2 * sizeof(float) * step.items.size() * slice.count * (shape_.taps - 1);
    }
    return load;
  }

  uint32_t counters() const override { return static_cast<uint32_t>(slices_.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const auto items = static_cast<uint32_t>(context.step().items.size());
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const ConvSlice& slice = slices_[local_shard];
      const uint32_t tasks = slice.tasks(), count = tasks * items;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        const uint32_t first = t % tasks * kChannels;
        run_channels(context, slice, context.step().items[t / tasks], first,
                     std::min(kChannels, slice.count - first), worker);
      }
    }
  }

 private:
  // Returns the state of the task's channels; null for kNoSlot.
  float* state(const ExecutionContext& context, const ConvSlice& slice, uint32_t slot,
               uint32_t first) const noexcept {
    float* all = context.step().states->at(slice.shard, shape_.layer, slot);
    return all == nullptr ? nullptr : all + slice.state + first;
  }

  void run_channels(ExecutionContext& context, const ConvSlice& slice, const StepItem& item,
                    uint32_t first, uint32_t n, const Worker& worker) const noexcept {
    const uint32_t kept = shape_.taps - 1;
    auto* products = reinterpret_cast<float*>(worker.scratch);  // [kept + rows][n]
    float* out = products + size_t{kMaxConvTaps + kRows} * kChannels;
    const float* from = state(context, slice, item.state_from, first);
    for (uint32_t i = 0; i < kept; ++i) {
      if (from == nullptr) {
        std::fill_n(products + i * n, n, 0.0f);
      } else {
        std::copy_n(from + size_t{i} * slice.in_shard, n, products + i * n);
      }
    }
    for (uint32_t row = 0; row < item.rows; row += kRows) {
      const uint32_t rows = std::min(kRows, item.rows - row);
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t at = item.first_row + row + r;
        const float* in = context.f32(in_) + at * context.f32_stride(in_) + first;
        float* x = products + (kept + r) * n;
        multiply(in + slice.before, in + slice.input, n, x);
        convolve(slice, first, products + r * n, n, out);
        multiply(out, in + slice.after, n, out);
        write(context, slice, first, n, at, out);
      }
      std::memmove(products, products + rows * n, size_t{kept} * n * sizeof(float));
    }
    float* to = state(context, slice, item.state_to, first);
    for (uint32_t i = 0; i < kept; ++i) {
      std::copy_n(products + i * n, n, to + size_t{i} * slice.in_shard);
    }
  }

  static void multiply(const float* a, const float* b, uint32_t n, float* out) noexcept {
    for (uint32_t c = 0; c < n; ++c) out[c] = a[c] * b[c];
  }

  // Convolves `taps` consecutive rows of products, of which x is the first, into one row.
  void convolve(const ConvSlice& slice, uint32_t first, const float* x, uint32_t n,
                float* out) const noexcept {
    const float* weight = shape_.weight->copies[slice.shard] + slice.begin + first;
    const uint32_t channels = shape_.weight->size / shape_.taps;
    multiply(weight, x, n, out);
    for (uint32_t j = 1; j < shape_.taps; ++j) {
      const float* w = weight + size_t{j} * channels;
      const float* of = x + size_t{j} * n;
      for (uint32_t c = 0; c < n; ++c) out[c] += w[c] * of[c];
    }
  }

  void write(ExecutionContext& context, const ConvSlice& slice, uint32_t first, uint32_t n,
             uint32_t row, const float* out) const noexcept {
    const uint32_t column = slice.out_column + slice.begin + first - slice.out_element;
    for (size_t f = 0; f < kActFormats; ++f) {
      const auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      context.kernels().quantize[f]({out, column, n, context.buffer(out_, format), row});
    }
  }

  ValueId in_, out_;
  ConvShape shape_;
  std::vector<ConvSlice> slices_;  // by local shard
};

}  // namespace

size_t conv_state_floats(uint32_t taps) { return std::max(1u, taps - 1); }

Bundle gated_conv(GraphBuilder& builder, const std::string& name, const Bundle& x,
                  const ConvMatrices& matrices, const ConvShape& shape, const Weight& output) {
  const LinearOut in =
      linear(builder, name + "_in", x, {matrices.before, matrices.after, matrices.input});
  const Bundle out = column_values(builder, output);
  builder.reads(in.bundle, ActFormat::kF32);
  builder.writes(out);
  auto make = [&](uint32_t g) {
    const std::vector<ColumnSlice> columns =
        column_slices(*output.cuts, output.unit, output.k, builder.plan().groups[g].share);
    std::vector<ConvSlice> slices;
    for (uint32_t s = 0; s < columns.size(); ++s) {
      auto column = [&](size_t part) {
        return in.slices[part][g][s].column + in.slices[part][g][s].lead;
      };
      const RowSlice& rows = in.slices[0][g][s];
      slices.push_back({.shard = rows.shard,
                        .begin = rows.row,
                        .count = rows.rows,
                        .state = rows.first_row(),
                        .in_shard = matrices.before.weight->shards[rows.shard].spec.rows,
                        .before = column(0),
                        .after = column(1),
                        .input = column(2),
                        .out_column = columns[s].column,
                        .out_element = columns[s].element});
    }
    return std::make_unique<GatedConvOp>(in.bundle.values[g], out.values[g], shape,
                                         std::move(slices));
  };
  builder.append(Mode::kParallel, name, op_per_group(builder, make));
  return out;
}

}  // namespace hearth
