#include "graph/ops/delta_net.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

// The rows whose queries and keys are normed at a time, before they update the state.
constexpr uint32_t kRuleRows = 32;
// The fewest columns of a head's state that a task takes.
constexpr uint32_t kMinColumns = 32;

// The columns of a value, by part, at which the rows of a key head's value heads begin.
struct PartColumns {
  std::vector<uint32_t> columns;  // of the first key head
  uint32_t of_head = 0;           // columns of each part for one key head

  uint32_t at(uint32_t part, uint32_t head) const { return columns[part] + head * of_head; }
};

// The key heads of one shard that a group works on, and the columns of their rows in its values.
struct DeltaSlice {
  uint32_t shard;
  UnitRange heads;  // of the whole model
  uint32_t state;   // the index of the first among the shard's key heads
  uint32_t local;   // its index among the group's
  PartColumns query, key, value, gate, alpha, beta;
  uint32_t out_column, out_element;  // of the output's ColumnSlice

  uint32_t count() const { return heads.size(); }
};

// The parameters that the ops of a layer share.
struct DeltaLayer {
  DeltaShape shape;
  std::vector<DeltaSlice> slices;  // by local shard
  uint32_t threads;                // that share a local shard

  uint32_t length() const { return shape.length; }
  uint32_t each() const { return shape.heads.each; }
  // Returns the columns of a key head after the convolution: queries, keys, values of its heads.
  uint32_t mixed() const { return (2 + each()) * length(); }
  size_t tail_floats() const { return size_t{shape.taps - 1} * mixed(); }
  size_t head_floats() const { return delta_state_floats(length(), length()); }
  size_t state_floats() const { return tail_floats() + each() * head_floats(); }

  // Returns the state of key head `head` of the slice; null for kNoSlot.
  float* state(const ExecutionContext& context, const DeltaSlice& slice, uint32_t slot,
               uint32_t head) const noexcept {
    float* all = context.step().states->at(slice.shard, shape.layer, slot);
    return all == nullptr ? nullptr : all + (slice.state + head) * state_floats();
  }
  // part_of(i): the part of value head i of a key head. within(i): its number among the value heads
  // of that key head in the part.
  uint32_t part_of(uint32_t i) const { return shape.heads.dealt ? i : 0; }
  uint32_t within(uint32_t i) const { return shape.heads.dealt ? 0 : i; }
};

// Convolves queries, keys and values. A task is an item and a key head, with all rows of the item.
class DeltaConvOp : public Op {
 public:
  DeltaConvOp(ValueId in, ValueId out, DeltaLayer layer)
      : in_(in), out_(out), layer_(std::move(layer)) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    for (const DeltaSlice& slice : layer_.slices) {
      const double rows = step.rows * double{sizeof(float)};
      load.shared_bytes += 2 * rows * slice.count() * layer_.mixed();
      load.of_shard(slice.shard).kv +=
          2 * sizeof(float) * step.items.size() * slice.count() * layer_.tail_floats();
    }
    return load;
  }

  uint32_t counters() const override { return static_cast<uint32_t>(layer_.slices.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const auto items = static_cast<uint32_t>(context.step().items.size());
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const uint32_t heads = layer_.slices[local_shard].count(), count = heads * items;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        run_head(context, layer_.slices[local_shard], context.step().items[t / heads], t % heads);
      }
    }
  }

 private:
  void run_head(ExecutionContext& context, const DeltaSlice& slice, const StepItem& item,
                uint32_t head) const noexcept {
    const uint32_t d = layer_.length(), keys = layer_.shape.heads.keys * d;
    const uint32_t j = slice.heads.begin + head;
    const float* from = layer_.state(context, slice, item.state_from, head);
    float* to = layer_.state(context, slice, item.state_to, head);
    uint32_t column = 0;
    auto mix = [&](uint32_t in_column, uint32_t channel) {
      mix_columns(context, slice, item, in_column, channel, (slice.local + head) * layer_.mixed(),
                  column, from, to);
      column += d;
    };
    mix(slice.query.at(0, head), j * d);
    mix(slice.key.at(0, head), keys + j * d);
    for (uint32_t i = 0; i < layer_.each(); ++i) {
      mix(slice.value.at(layer_.part_of(i), head) + layer_.within(i) * d,
          2 * keys + layer_.shape.heads.in_file(j, i) * d);
    }
  }

  // Convolves a head's columns from `in_column` on, which are channels from `channel` on. `column`
  // is the index of the first column among the key head's columns.
  void mix_columns(ExecutionContext& context, const DeltaSlice& slice, const StepItem& item,
                   uint32_t in_column, uint32_t channel, uint32_t out_column, uint32_t column,
                   const float* from, float* to) const noexcept {
    const size_t stride = context.f32_stride(in_), out_stride = context.f32_stride(out_);
    context.kernels().short_conv(
        {.x = context.f32(in_) + item.first_row * stride + in_column,
         .x_stride = stride,
         .weight = layer_.shape.conv->copies[slice.shard] + channel,
         .weight_stride = size_t{layer_.shape.heads.keys} * layer_.mixed(),
         .rows = item.rows,
         .channels = layer_.length(),
         .taps = layer_.shape.taps,
         .from = from == nullptr ? nullptr : from + column,
         .to = to + column,
         .state_stride = layer_.mixed(),
         .out = context.f32(out_) + item.first_row * out_stride + out_column + column,
         .out_stride = out_stride});
  }

  ValueId in_, out_;
  DeltaLayer layer_;
};

// Applies the delta rule. A task is an item, a value head and some of its columns, with all rows of
// the item.
class DeltaRuleOp : public Op {
 public:
  DeltaRuleOp(ValueId in, ValueId mixed, ValueId out, DeltaLayer layer)
      : in_(in), mixed_(mixed), out_(out), layer_(std::move(layer)) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const uint64_t d = layer_.length();
    const ArithmeticUnit unit = arithmetic_unit_for(KvType::kF32, step.units);
    for (const DeltaSlice& slice : layer_.slices) {
      const uint64_t heads = uint64_t{slice.count()} * layer_.each();
      load.of_shard(slice.shard).kv +=
          2 * sizeof(float) * step.items.size() * heads * layer_.head_floats();
      load.attention_operations += 6 * d * d * heads * step.rows;
      load.shared_bytes += double{sizeof(float)} * step.rows * slice.count() *
                           (layer_.mixed() + layer_.each() * layer_.length());
    }
    load.of(unit) = load.attention_operations;
    return load;
  }

  uint32_t counters() const override { return static_cast<uint32_t>(layer_.slices.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const auto items = static_cast<uint32_t>(context.step().items.size());
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const DeltaSlice& slice = layer_.slices[local_shard];
      const uint32_t heads = slice.count() * layer_.each(), pieces = pieces_of(heads * items);
      const uint32_t count = heads * items * pieces;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        const uint32_t head = t / pieces % heads;
        run_head(context, slice, context.step().items[t / pieces / heads], head,
                 columns_of(t % pieces, pieces), worker);
      }
    }
  }

 private:
  // Returns how many pieces each of `heads` heads is cut into: more than one if there are too few
  // heads for the threads.
  uint32_t pieces_of(uint32_t heads) const noexcept {
    uint32_t pieces = 1;
    while (heads * pieces < 2 * layer_.threads && layer_.threads > 1 &&
           layer_.length() / (2 * pieces) >= kMinColumns) {
      pieces *= 2;
    }
    return pieces;
  }
  // Returns a piece's columns, whole tiles of the state.
  UnitRange columns_of(uint32_t piece, uint32_t pieces) const noexcept {
    const uint32_t d = layer_.length(), tiles = (d + kStateTile - 1) / kStateTile;
    return {tiles * piece / pieces * kStateTile,
            std::min(d, tiles * (piece + 1) / pieces * kStateTile)};
  }

  // The normed queries and keys of some rows, with their gates: the state's decay and update
  // strength.
  struct Chunk {
    float* keys;  // [rows][query, key]
    std::array<float, kRuleRows> decay, beta, bias, rate;
  };

  void run_head(ExecutionContext& context, const DeltaSlice& slice, const StepItem& item,
                uint32_t value_head, UnitRange columns, const Worker& worker) const noexcept {
    const uint32_t d = layer_.length(), head = value_head / layer_.each();
    const uint32_t i = value_head % layer_.each();
    const size_t first =
        layer_.tail_floats() + i * layer_.head_floats() + columns.begin * size_t{d};
    const float* from = layer_.state(context, slice, item.state_from, head);
    float* to = layer_.state(context, slice, item.state_to, head) + first;
    if (from != nullptr) from += first;
    const size_t stride = context.f32_stride(mixed_), out_stride = context.f32_stride(out_);
    const size_t mixed_column = size_t{slice.local + head} * layer_.mixed();
    const size_t out_column = (size_t{slice.local + head} * layer_.each() + i) * d + columns.begin;
    Chunk chunk{reinterpret_cast<float*>(worker.scratch), {}, {}, {}, {}};
    for (uint32_t row = 0; row < item.rows; row += kRuleRows) {
      const uint32_t rows = std::min(kRuleRows, item.rows - row);
      const size_t at = size_t{item.first_row} + row;
      const float* mixed = context.f32(mixed_) + at * stride + mixed_column;
      norm_keys(context, mixed, rows, &chunk);
      open_gates(context, slice, head, i, at, rows, &chunk);
      context.kernels().delta_rule({.q = chunk.keys,
                                    .k = chunk.keys + d,
                                    .key_stride = size_t{2} * d,
                                    .v = mixed + (2 + i) * d + columns.begin,
                                    .value_stride = stride,
                                    .decay = chunk.decay.data(),
                                    .beta = chunk.beta.data(),
                                    .gate_stride = 1,
                                    .rows = rows,
                                    .length = d,
                                    .columns = columns.size(),
                                    .scale = 1 / std::sqrt(static_cast<float>(d)),
                                    .from = from,
                                    .to = to,
                                    .out = context.f32(out_) + at * out_stride + out_column,
                                    .out_stride = out_stride});
      from = to;
    }
  }

  void norm_keys(ExecutionContext& context, const float* mixed, uint32_t rows,
                 Chunk* chunk) const noexcept {
    const uint32_t d = layer_.length();
    const size_t stride = context.f32_stride(mixed_);
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t part = 0; part < 2; ++part) {
        context.kernels().unit_norm({mixed + r * stride + part * d, d, layer_.shape.norm.eps,
                                     chunk->keys + (2 * r + part) * size_t{d}});
      }
    }
  }

  void open_gates(ExecutionContext& context, const DeltaSlice& slice, uint32_t head, uint32_t i,
                  size_t row, uint32_t rows, Chunk* chunk) const noexcept {
    const DeltaHeads& heads = layer_.shape.heads;
    uint32_t alpha = slice.alpha.at(layer_.part_of(i), head), beta = alpha + layer_.within(i);
    if (layer_.shape.both_in_alpha) {
      alpha = beta + heads.each;
    } else {
      alpha += layer_.within(i);
      beta = slice.beta.at(layer_.part_of(i), head) + layer_.within(i);
    }
    const size_t stride = context.f32_stride(in_);
    for (uint32_t r = 0; r < rows; ++r) {
      const float* in = context.f32(in_) + (row + r) * stride;
      chunk->decay[r] = in[alpha];
      chunk->beta[r] = in[beta];
    }
    const uint32_t number = heads.in_file(slice.heads.begin + head, i);
    chunk->bias.fill(layer_.shape.bias->copies[slice.shard][number]);
    chunk->rate.fill(layer_.shape.rate->copies[slice.shard][number]);
    context.kernels().delta_gates({chunk->decay.data(), chunk->bias.data(), chunk->rate.data(),
                                   chunk->beta.data(), rows, chunk->decay.data(),
                                   chunk->beta.data()});
  }

  ValueId in_, mixed_, out_;
  DeltaLayer layer_;
};

// Norms the results. A task is some rows and a unit of key heads, with their value heads in the
// output's order.
class DeltaNormOp : public Op {
 public:
  DeltaNormOp(ValueId in, ValueId ruled, ValueId out, DeltaLayer layer)
      : in_(in), ruled_(ruled), out_(out), layer_(std::move(layer)) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const double bytes = 2 * sizeof(float) + written_bytes(step.graph, out_);
    for (const DeltaSlice& slice : layer_.slices) {
      load.shared_bytes += bytes * step.rows * slice.count() * layer_.each() * layer_.length();
    }
    return load;
  }

  uint32_t counters() const override { return static_cast<uint32_t>(layer_.slices.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const uint32_t rows = context.rows(in_), run = std::min(rows, 16u);
    const uint32_t runs = (rows + run - 1) / run;
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const DeltaSlice& slice = layer_.slices[local_shard];
      const uint32_t units = slice.count() / layer_.shape.heads.unit, count = units * runs;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        const uint32_t first = t / units * run;
        for (uint32_t r = first; r < std::min(rows, first + run); ++r) {
          run_unit(context, slice, t % units, r, worker);
        }
      }
    }
  }

 private:
  void run_unit(ExecutionContext& context, const DeltaSlice& slice, uint32_t unit, uint32_t row,
                const Worker& worker) const noexcept {
    const DeltaHeads& heads = layer_.shape.heads;
    const uint32_t d = layer_.length(), first = unit * heads.unit;
    const uint32_t before = (slice.heads.begin + first) * heads.each;
    auto* tile = reinterpret_cast<float*>(worker.scratch);
    const float* in = context.f32(in_) + row * context.f32_stride(in_);
    const float* ruled = context.f32(ruled_) + row * context.f32_stride(ruled_);
    const NormWeight& norm = layer_.shape.norm;
    for (uint32_t head = first; head < first + heads.unit; ++head) {
      for (uint32_t i = 0; i < heads.each; ++i) {
        const uint32_t place = heads.in_output(slice.heads.begin + head, i) - before;
        const uint32_t gate = slice.gate.at(layer_.part_of(i), head) + layer_.within(i) * d;
        context.kernels().gated_norm({ruled + (size_t{slice.local + head} * heads.each + i) * d,
                                      norm.weight->copies[slice.shard], in + gate, d, norm.eps,
                                      tile + size_t{place} * d});
      }
    }
    const uint32_t column = slice.out_column + before * d - slice.out_element;
    for (size_t f = 0; f < kActFormats; ++f) {
      const auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      context.kernels().quantize[f](
          {tile, column, heads.unit * heads.each * d, context.buffer(out_, format), row});
    }
  }

  ValueId in_, ruled_, out_;
  DeltaLayer layer_;
};

// Appends the ops of a layer to a graph.
class DeltaBuilder {
 public:
  DeltaBuilder(GraphBuilder& builder, const DeltaMatrices& matrices, const DeltaShape& shape,
               const Weight& output)
      : builder_(builder), shape_(shape), output_(output) {
    add({matrices.query}, &query_);
    add({matrices.key}, &key_);
    add(matrices.value, &value_);
    add(matrices.gate, &gate_);
    add(matrices.alpha, &alpha_);
    add(matrices.beta, &beta_);
  }

  Bundle append(const std::string& name, const Bundle& x) {
    in_ = linear(builder_, name + "_in", x, all_);
    std::vector<DeltaLayer> layers;
    std::vector<uint32_t> mixed_widths, ruled_widths;
    for (uint32_t g = 0; g < builder_.group_count(); ++g) {
      layers.push_back(layer_of(g));
      uint32_t heads = 0;
      for (const DeltaSlice& slice : layers[g].slices) heads += slice.count();
      mixed_widths.push_back(std::max(1u, heads * layers[g].mixed()));
      ruled_widths.push_back(std::max(1u, heads * shape_.heads.each * shape_.length));
    }
    const Bundle mixed = builder_.add_values(RowSet::kTokens, mixed_widths);
    const Bundle ruled = builder_.add_values(RowSet::kTokens, ruled_widths);
    const Bundle out = column_values(builder_, output_);
    builder_.reads(in_.bundle, ActFormat::kF32);
    append_op(name + "_conv", mixed, [&](uint32_t g) {
      return std::make_unique<DeltaConvOp>(in_.bundle.values[g], mixed.values[g], layers[g]);
    });
    builder_.reads(in_.bundle, ActFormat::kF32);
    builder_.reads(mixed, ActFormat::kF32);
    append_op(name + "_rule", ruled, [&](uint32_t g) {
      return std::make_unique<DeltaRuleOp>(in_.bundle.values[g], mixed.values[g], ruled.values[g],
                                           layers[g]);
    });
    builder_.reads(in_.bundle, ActFormat::kF32);
    builder_.reads(ruled, ActFormat::kF32);
    append_op(name + "_norm", out, [&](uint32_t g) {
      return std::make_unique<DeltaNormOp>(in_.bundle.values[g], ruled.values[g], out.values[g],
                                           layers[g]);
    });
    return out;
  }

 private:
  // The indices of matrices among the parts of the fused linear layer.
  using Places = std::vector<size_t>;

  void add(const std::vector<LinearMatrix>& matrices, Places* places) {
    for (const LinearMatrix& matrix : matrices) {
      places->push_back(all_.size());
      all_.push_back(matrix);
    }
  }

  template <typename Make>
  void append_op(std::string name, const Bundle& out, const Make& make) {
    builder_.writes(out);
    builder_.append(Mode::kParallel, std::move(name), op_per_group(builder_, make));
  }

  PartColumns columns_of(const Places& places, uint32_t g, uint32_t local_shard) const {
    PartColumns columns;
    for (size_t place : places) {
      const RowSlice& slice = in_.slices[place][g][local_shard];
      columns.columns.push_back(slice.column + slice.lead);
      columns.of_head = all_[place].weight->rows / shape_.heads.keys;
    }
    return columns;
  }

  DeltaLayer layer_of(uint32_t g) const {
    const PlanGroup& group = builder_.plan().groups[g];
    DeltaLayer layer{shape_, {}, threads_per_shard(group)};
    const std::vector<ColumnSlice> columns =
        column_slices(*output_.cuts, output_.unit, output_.k, group.share);
    uint32_t local = 0;
    for (uint32_t s = 0; s < columns.size(); ++s) {
      const RowSlice& keys = in_.slices[key_[0]][g][s];
      DeltaSlice slice{};
      slice.shard = keys.shard;
      slice.heads = {keys.row / shape_.length, (keys.row + keys.rows) / shape_.length};
      slice.state = keys.first_row() / shape_.length;
      slice.local = local;
      slice.query = columns_of(query_, g, s);
      slice.key = columns_of(key_, g, s);
      slice.value = columns_of(value_, g, s);
      slice.gate = columns_of(gate_, g, s);
      slice.alpha = columns_of(alpha_, g, s);
      slice.beta = columns_of(beta_, g, s);
      slice.out_column = columns[s].column;
      slice.out_element = columns[s].element;
      local += slice.count();
      layer.slices.push_back(std::move(slice));
    }
    return layer;
  }

  GraphBuilder& builder_;
  DeltaShape shape_;
  const Weight& output_;
  std::vector<LinearMatrix> all_;
  Places query_, key_, value_, gate_, alpha_, beta_;
  LinearOut in_;
};

}  // namespace

size_t delta_state_floats(const DeltaHeads& heads, uint32_t length, uint32_t taps) {
  const size_t tail = size_t{taps - 1} * (2 + heads.each) * length;
  return tail + heads.each * delta_state_floats(length, length);
}

Bundle delta_net(GraphBuilder& builder, const std::string& name, const Bundle& x,
                 const DeltaMatrices& matrices, const DeltaShape& shape, const Weight& output) {
  HEARTH_CHECK(shape.heads.values() * shape.length <= kMaxDeltaWidth,
               "a row of all value heads fits into a tile");
  return DeltaBuilder(builder, matrices, shape, output).append(name, x);
}

}  // namespace hearth
