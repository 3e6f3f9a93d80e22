// Attention to latents in AcceleratorLayers (graph/ops/latent.h): projections down into pages of
// latents, and the absorbed and the expanded form of attention.
//
// One value holds all arrays of some heads at a time. Its length depends on the number of rows, not
// on their texts. So the memory of a pass follows from its rows and the context.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/round_up.h"
#include "hybrid/accelerator_layers.h"
#include "kernels/attention/latent.h"
#include "tensor/head_panels.h"

namespace hearth {
namespace {

constexpr uint64_t kFloat = sizeof(float), kWorkAlign = 256;
// How many heads absorbed rows take at a time. Expanded rows take as many as have keys and values
// of kExpandedBytes together, but at least one.
constexpr uint32_t kAbsorbedHeads = 4;
constexpr uint64_t kExpandedBytes = 128 << 20;

uint64_t aligned(uint64_t bytes) { return round_up(bytes, kWorkAlign); }

// Returns the part of `rows` from row `row` and column `column` on.
FloatRows part_of(FloatRows rows, uint64_t row, uint64_t column) {
  rows.at = rows.at + (row * rows.stride + column) * kFloat;
  return rows;
}

// Returns how many positions the last `rows` rows of a sequence of `positions` positions see, added
// up over these rows. Each row sees all positions up to its own.
uint64_t seen_by(uint32_t rows, uint32_t positions) {
  return uint64_t{rows} * (2 * uint64_t{positions} + 1 - rows) / 2;
}

}  // namespace

// Makes the commands of one attention layer with latents.
class LatentCommands {
 public:
  LatentCommands(AcceleratorLayers& layers, const LatentBlock& block)
      : layers_(layers),
        commands_(layers.commands_),
        block_(block),
        kv_lora_rank_(block.kv_lora_rank),
        rope_length_(block.rope.n_rot),
        nope_length_(block.key_length - block.rope.n_rot),
        key_(weight(block.key_up)),
        value_(weight(block.value_up)),
        absorbed_(absorbed_sizes()),
        expanded_bytes_(expanded_head_bytes()) {}

  Partials make(ValueId input);

 private:
  // Some heads of a shard, with their queries and the output of their attention.
  struct Heads {
    uint32_t shard;
    UnitRange heads;
    FloatRows queries, out;
    Place work;

    uint32_t column(uint32_t head, uint32_t length) const { return (head - heads.begin) * length; }
  };
  // Absorbed rows that follow each other in the step. They may belong to several texts.
  struct AbsorbedRows {
    uint32_t first, rows;
    uint32_t positions;  // the most positions that a row sees
    uint64_t seen;       // positions that the rows see, added up
  };
  // The bytes of each array that one head needs for absorbed rows.
  struct AbsorbedSizes {
    uint64_t nope, query, mix, mix_act, edges;
    uint64_t all() const { return nope + query + mix + mix_act + edges; }
  };
  // Products of heads with their parts of a weight. Heads lie at even distances in `a` and `out`.
  struct HeadProducts {
    const Weight& weight;
    uint32_t length;
    Place a;  // of the first head
    uint64_t a_bytes;
    FloatRows out;
    uint32_t out_head;  // floats from head to head
    Place edges;
    uint64_t edge_bytes;
  };

  const Weight& weight(WeightId id) const { return layers_.weights_.model().weights().matrix(id); }
  uint32_t step_rows() const { return layers_.step_.rows(); }
  uint32_t query_head() const { return round_up(kv_lora_rank_, kPanelRows); }  // floats

  ValueId project_down(ValueId input, ValueId* low_queries);
  uint32_t query_heads(uint32_t heads) const;
  // The product of rows with the panels of a weight's shard.
  GemmCall product_of(const Weight& by, uint32_t s, const HeadPanels& panels, const ActRows& a,
                      uint32_t rows, const FloatRows& out) const;
  FloatRows queries_of(ValueId low, uint32_t s, UnitRange heads, const Place& to);
  void norm_in_place(ValueId x, const NormRef& by, uint32_t n, bool ordered);
  void turn(const FloatRows& x, uint32_t heads, uint32_t apart, bool ordered);
  LatentPages pages_of(uint32_t s, uint32_t first_page, uint32_t count) const;
  LatentPages all_pages(uint32_t s) const { return pages_of(s, 0, layers_.pages_->pages->count()); }
  void attend(const Heads& of);
  // Calls act(heads) for all heads in turn, at most `most` of them at a time.
  template <typename Act>
  static void for_heads(UnitRange all, uint32_t most, const Act& act) {
    for (uint32_t head = all.begin; head < all.end; head += most) {
      act(UnitRange{head, std::min(head + most, all.end)});
    }
  }

  AbsorbedSizes absorbed_sizes() const;
  std::vector<AbsorbedRows> absorbed_rows() const;
  void attend_absorbed(const Heads& of, const AbsorbedRows& which, UnitRange heads);
  void quantize(const FloatRows& x, uint32_t head_floats, uint32_t n, uint32_t rows,
                UnitRange heads, const Weight& by, Place to, uint64_t bytes);
  void multiply(const Heads& of, UnitRange heads, uint32_t rows, const HeadProducts& by);

  KvPages expanded_pages(uint32_t heads, uint32_t count, Place at) const;
  uint64_t expanded_head_bytes() const;
  uint32_t expanded_heads(UnitRange heads) const;
  void attend_expanded(const Heads& of, UnitRange heads);
  FloatRows matrix_rows(const Heads& of, const Weight& by, UnitRange heads, uint32_t length,
                        Place* work, bool ordered);

  Place sees(uint32_t row);
  Place numbers();
  Place minus_zeros();

  AcceleratorLayers& layers_;
  PassCommands& commands_;
  const LatentBlock& block_;
  const uint32_t kv_lora_rank_, rope_length_, nope_length_;
  const Weight &key_, &value_;
  const AbsorbedSizes absorbed_;
  const uint64_t expanded_bytes_;  // of a head
};

Partials AcceleratorLayers::make(const LatentBlock& block, ValueId input) {
  return LatentCommands(*this, block).make(input);
}

Partials LatentCommands::make(ValueId input) {
  Partials partials = layers_.partials_of({block_.output, {}});
  std::vector<uint32_t> shards;
  for (uint32_t s = 0; s < key_.shards.size(); ++s) {
    if (key_.shards[s].spec.rows > 0) shards.push_back(s);
  }
  ValueId low = input;
  const ValueId latents = project_down(input, &low);
  for (uint32_t s : shards) {
    commands_.add(LatentStoreCall{.x = layers_.values_[latents].rows,
                                  .slots = layers_.slots(),
                                  .rows = step_rows(),
                                  .pages = all_pages(s)},
                  s == shards[0]);
  }
  layers_.filled_ = layers_.is_last_layer();
  if (layers_.filled_) return partials;
  for (uint32_t s : shards) {
    const Shard& shard = key_.shards[s];
    const UnitRange heads{shard.row0 / kv_lora_rank_,
                          (shard.row0 + shard.spec.rows) / kv_lora_rank_};
    const ValueId out = layers_.add_value(heads.size() * block_.value_length);
    const uint32_t at_once = query_heads(heads.size());
    const Place queries =
        commands_.value(uint64_t{step_rows()} * max_columns(at_once * block_.key_length) * kFloat);
    const Place work =
        commands_.value(kAbsorbedHeads * absorbed_.all() + expanded_heads(heads) * expanded_bytes_);
    for_heads(heads, at_once, [&](UnitRange some) {
      const FloatRows rows = queries_of(low, s, some, queries);
      turn(part_of(rows, 0, nope_length_), some.size(), block_.key_length, true);
      const uint32_t before = some.begin - heads.begin;
      attend({s, some, rows,
              part_of(layers_.values_[out].rows, 0, uint64_t{before} * block_.value_length), work});
    });
    layers_.add_partial(&partials, out, weight(block_.output), s);
  }
  return partials;
}

// Computes the normed latents, each followed by the rotated part of the key, and low-rank queries
// if the model has them. Every shard has a copy of these matrices; this uses the first shard's.
ValueId LatentCommands::project_down(ValueId input, ValueId* low_queries) {
  const ValueId latents = layers_.linear(input, {block_.latent_down, {}}, 0, true);
  if (block_.query_down) {
    *low_queries = layers_.linear(input, {block_.query_down, {}}, 0, false);
  }
  norm_in_place(latents, block_.latent_norm, kv_lora_rank_, true);
  turn(part_of(layers_.values_[latents].rows, 0, kv_lora_rank_), 1, rope_length_, false);
  if (block_.query_down) {
    norm_in_place(*low_queries, *block_.query_norm, layers_.values_[*low_queries].width, false);
  }
  return latents;
}

// Returns for how many heads queries are in memory at a time. Their queries take no more memory
// than the result of the attention of all heads. Queries of all heads at once would be the longest
// value of a pass.
uint32_t LatentCommands::query_heads(uint32_t heads) const {
  const uint32_t most = std::max(heads * block_.value_length / block_.key_length, 1u);
  const uint32_t parts = (heads + most - 1) / most;
  return (heads + parts - 1) / parts;
}

GemmCall LatentCommands::product_of(const Weight& by, uint32_t s, const HeadPanels& panels,
                                    const ActRows& a, uint32_t rows, const FloatRows& out) const {
  const PackSpec& spec = by.shards[s].spec;
  const ShardPlace place = layers_.weights_.shard(by, s);
  return {.spec = spec,
          .codes = place.codes,
          .scales = place.scales,
          .panel0 = panels.panel0,
          .panels = panels.panels,
          .block1 = spec.blocks(),
          .a = a,
          .m = rows,
          .out = out};
}

FloatRows LatentCommands::queries_of(ValueId low, uint32_t s, UnitRange heads, const Place& to) {
  const Shard& shard = weight(block_.query).shards[s];
  const HeadPanels panels(shard, heads, block_.key_length);
  const ActFormat format = act_format_for(shard.spec.kind);
  layers_.bring(low, format);
  const FloatRows out{to, panels.columns()};
  commands_.add(product_of(weight(block_.query), s, panels, layers_.values_[low].formats.at(format),
                           step_rows(), out));
  return part_of(out, 0, panels.lead);
}

void LatentCommands::norm_in_place(ValueId x, const NormRef& by, uint32_t n, bool ordered) {
  const WeightTable& table = layers_.weights_.model().weights();
  const FloatRows rows = layers_.values_[x].rows;
  commands_.add(
      NormCall{.kind = by.kind == NormKind::kRms ? NormCallKind::kRms : NormCallKind::kLayer,
               .x = rows,
               .weight = layers_.weights_.vector(&table.vector(by.weight)),
               .bias = layers_.weights_.vector(table.optional_vector(by.bias)),
               .rows = step_rows(),
               .n = n,
               .eps = by.eps,
               .out = rows},
      ordered);
}

void LatentCommands::turn(const FloatRows& x, uint32_t heads, uint32_t apart, bool ordered) {
  const Place angles = layers_.angles_of(block_.rope);
  commands_.add(RopeCall{.x = x,
                         .rows = step_rows(),
                         .heads = heads,
                         .head_stride = apart,
                         .cos = angles,
                         .sin = angles + uint64_t{step_rows()} * (rope_length_ / 2) * kFloat,
                         .n_rot = rope_length_,
                         .layout = block_.rope.layout},
                ordered);
}

LatentPages LatentCommands::pages_of(uint32_t s, uint32_t first_page, uint32_t count) const {
  const KvPages pages =
      layers_.pages_->pages->of(s, layers_.layer_, kv_lora_rank_ + rope_length_, 0);
  return {.at = pages.at + first_page * pages.stride,
          .stride = pages.stride,
          .count = count,
          .type = pages.type,
          .copies = pages.heads,
          .length = pages.key_length};
}

// Computes the attention of expanded rows, then that of absorbed ones. Each call takes some heads
// of all texts, so many short texts take no more commands than a long one.
void LatentCommands::attend(const Heads& of) {
  const auto expands = [](const StepItem& item) { return item.expanded > 0; };
  if (std::ranges::any_of(layers_.step_.items, expands)) {
    for_heads(of.heads, expanded_heads(of.heads),
              [&](UnitRange heads) { attend_expanded(of, heads); });
  }
  for (const AbsorbedRows& which : absorbed_rows()) {
    for_heads(of.heads, kAbsorbedHeads,
              [&](UnitRange heads) { attend_absorbed(of, which, heads); });
  }
}

LatentCommands::AbsorbedSizes LatentCommands::absorbed_sizes() const {
  const uint64_t rows = step_rows();
  const auto act = [&](const Weight& by, uint32_t k) {
    return aligned(act_bytes(act_format_for(by.shards[0].spec.kind), step_rows(), k));
  };
  const uint32_t edge = std::max(max_columns(kv_lora_rank_), max_columns(block_.value_length));
  const bool whole = kv_lora_rank_ % kPanelRows == 0 && block_.value_length % kPanelRows == 0;
  return {.nope = act(key_, nope_length_),
          .query = aligned(rows * query_head() * kFloat),
          .mix = aligned(rows * kv_lora_rank_ * kFloat),
          .mix_act = act(value_, kv_lora_rank_),
          .edges = whole ? 0 : aligned(rows * edge * kFloat)};
}

// Returns the runs of absorbed rows. The first rows of a text may be expanded; they end the run
// before them.
std::vector<LatentCommands::AbsorbedRows> LatentCommands::absorbed_rows() const {
  std::vector<AbsorbedRows> all;
  for (const StepItem& item : layers_.step_.items) {
    const uint32_t rows = item.rows - item.expanded, positions = item.first_position + item.rows;
    if (rows == 0) continue;
    const uint32_t first = item.first_row + item.expanded;
    if (all.empty() || all.back().first + all.back().rows != first) all.push_back({first, 0, 0, 0});
    AbsorbedRows& last = all.back();
    last.rows += rows;
    last.positions = std::max(last.positions, positions);
    last.seen += seen_by(rows, positions);
  }
  return all;
}

// Multiplies the queries by the key matrices, and the weighted sums of latents by the value
// matrices. So it needs no keys and values of the positions.
void LatentCommands::attend_absorbed(const Heads& of, const AbsorbedRows& which, UnitRange heads) {
  const uint32_t rows = which.rows, first = which.first, n = heads.size();
  const Place nope = of.work, query = nope + kAbsorbedHeads * absorbed_.nope;
  const Place mix = query + kAbsorbedHeads * absorbed_.query;
  const Place mix_act = mix + kAbsorbedHeads * absorbed_.mix;
  const Place edges = mix_act + kAbsorbedHeads * absorbed_.mix_act;
  const FloatRows own = part_of(of.queries, first, of.column(heads.begin, block_.key_length));
  const FloatRows absorbed{query, uint64_t{n} * query_head()};
  const FloatRows mixes{mix, uint64_t{n} * kv_lora_rank_};

  quantize(own, block_.key_length, nope_length_, rows, heads, key_, nope, absorbed_.nope);
  multiply(
      of, heads, rows,
      {key_, kv_lora_rank_, nope, absorbed_.nope, absorbed, query_head(), edges, absorbed_.edges});
  commands_.add(LatentAttendCall{
      .q = absorbed,
      .q_rope = part_of(own, 0, nope_length_),
      .q_head = query_head(),
      .rope_head = block_.key_length,
      .rows_of = layers_.rows_seen(Mask::kCausal, 0) + uint64_t{first} * sizeof(PagedRow),
      .rows = rows,
      .positions = which.positions,
      .seen = which.seen,
      .heads = n,
      .kv_lora_rank = kv_lora_rank_,
      .scale = block_.scale,
      .pages = all_pages(of.shard),
      .out = mixes});
  quantize(mixes, kv_lora_rank_, kv_lora_rank_, rows, heads, value_, mix_act, absorbed_.mix_act);
  const uint32_t length = block_.value_length;
  multiply(
      of, heads, rows,
      {value_, length, mix_act, absorbed_.mix_act,
       part_of(of.out, first, of.column(heads.begin, length)), length, edges, absorbed_.edges});
}

// Quantises n floats of each head to the format of `by`. Heads are `head_floats` floats apart.
void LatentCommands::quantize(const FloatRows& x, uint32_t head_floats, uint32_t n, uint32_t rows,
                              UnitRange heads, const Weight& by, Place to, uint64_t bytes) {
  const ActFormat format = act_format_for(by.shards[0].spec.kind);
  for (uint32_t i = 0; i < heads.size(); ++i) {
    commands_.add(QuantizeCall{part_of(x, 0, uint64_t{i} * head_floats), rows, n,
                               ActRows{to + i * bytes, format, rows, n}},
                  i == 0);
  }
}

// Multiplies by each head's part of a matrix. Where a panel also has rows of a neighbour, the
// product has them too. Then adding -0 copies the head's own rows out, and changes no number.
void LatentCommands::multiply(const Heads& of, UnitRange heads, uint32_t rows,
                              const HeadProducts& by) {
  const Shard& shard = by.weight.shards[of.shard];
  std::vector<AddCall> copies;
  for (uint32_t i = 0; i < heads.size(); ++i) {
    const HeadPanels panels(shard, {heads.begin + i, heads.begin + i + 1}, by.length);
    const FloatRows to = part_of(by.out, 0, uint64_t{i} * by.out_head);
    const bool whole = panels.columns() == by.length;
    const FloatRows wide{by.edges + i * by.edge_bytes, panels.columns()};
    const ActRows a{by.a + i * by.a_bytes, act_format_for(shard.spec.kind), rows, shard.spec.k};
    commands_.add(product_of(by.weight, of.shard, panels, a, rows, whole ? to : wide), i == 0);
    if (whole) continue;
    copies.push_back({.a = part_of(wide, 0, panels.lead),
                      .b = {minus_zeros(), 0},
                      .rows = rows,
                      .n = by.length,
                      .out = to});
  }
  bool ordered = true;
  for (const AddCall& copy : copies) commands_.add(copy, std::exchange(ordered, false));
}

KvPages LatentCommands::expanded_pages(uint32_t heads, uint32_t count, Place at) const {
  KvPages pages{.at = at,
                .count = count,
                .type = KvType::kF32,
                .heads = heads,
                .key_length = block_.key_length,
                .value_length = block_.value_length};
  pages.stride = heads * pages.head_bytes();
  return pages;
}

// Returns the bytes of one head's keys and values of a whole context, and of its two matrices.
uint64_t LatentCommands::expanded_head_bytes() const {
  return pages_for(layers_.context_) * expanded_pages(1, 0, {}).stride +
         aligned(uint64_t{kv_lora_rank_} * nope_length_ * kFloat) +
         aligned(uint64_t{kv_lora_rank_} * block_.value_length * kFloat) + 2 * kWorkAlign;
}

uint32_t LatentCommands::expanded_heads(UnitRange heads) const {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(kExpandedBytes / expanded_bytes_, 1, heads.size()));
}

// Unpacks the heads' matrices once for all texts. Makes the keys and values of each position that a
// text's rows see only once, though the cores may do it again for each chunk.
void LatentCommands::attend_expanded(const Heads& of, UnitRange heads) {
  Place work = of.work + kAbsorbedHeads * absorbed_.all();
  const FloatRows key = matrix_rows(of, key_, heads, kv_lora_rank_, &work, true);
  const FloatRows value = matrix_rows(of, value_, heads, block_.value_length, &work, false);
  for (size_t t = 0; t < layers_.step_.items.size(); ++t) {
    const StepItem& item = layers_.step_.items[t];
    const uint32_t rows = item.expanded, positions = item.first_position + rows;
    if (rows == 0) continue;
    const KvPages to = expanded_pages(heads.size(), pages_for(positions), work);
    commands_.add(LatentExpandCall{
        .from = pages_of(of.shard, layers_.pages_->first_pages[t], pages_for(positions)),
        .positions = positions,
        .kv_lora_rank = kv_lora_rank_,
        .key = key,
        .value = value,
        .to = to});
    commands_.add(PagedAttendCall{
        .q = part_of(of.queries, item.first_row, of.column(heads.begin, block_.key_length)),
        .rows_of = sees(item.first_row),
        .rows = rows,
        .positions = positions,
        .seen = seen_by(rows, positions),
        .heads = heads.size(),
        .scale = block_.scale,
        .pages = to,
        .out = part_of(of.out, item.first_row, of.column(heads.begin, block_.value_length))});
  }
}

// Unpacks these heads' rows of the weight, `length` for each head. Moves `*work` behind them.
FloatRows LatentCommands::matrix_rows(const Heads& of, const Weight& by, UnitRange heads,
                                      uint32_t length, Place* work, bool ordered) {
  const Shard& shard = by.shards[of.shard];
  const ShardPlace place = layers_.weights_.shard(by, of.shard);
  const uint64_t first = uint64_t{heads.begin} * length - shard.row0;
  const FloatRows rows{*work, shard.spec.k};
  commands_.add(TableCall{.spec = shard.spec,
                          .codes = place.codes,
                          .scales = place.scales,
                          .rows_of = numbers() + first * sizeof(uint32_t),
                          .rows = heads.size() * length,
                          .out = rows},
                ordered);
  *work = *work + aligned(uint64_t{heads.size()} * length * shard.spec.k * kFloat);
  return rows;
}

// Returns what expanded rows from `row` on see: all positions of their text up to their own.
Place LatentCommands::sees(uint32_t row) {
  Place& at = layers_.latent_inputs_.sees;
  if (!at) {
    std::vector<PagedRow> rows;
    for (uint32_t position : layers_.step_.positions) rows.push_back({0, 0, position, 0});
    at = commands_.input(std::as_bytes(std::span(rows)));
  }
  return at + uint64_t{row} * sizeof(PagedRow);
}

// Returns the place of the numbers 0, 1, ..., one for each row of the largest matrix of all heads.
Place LatentCommands::numbers() {
  Place& at = layers_.latent_inputs_.numbers;
  if (at) return at;
  uint32_t most = 0;
  for (const Layer& layer : layers_.weights_.model().spec().layers) {
    for (const Block& block : layer.blocks) {
      const auto* of = std::get_if<LatentBlock>(&block.body);
      if (of == nullptr) continue;
      most = std::max(most, of->heads * std::max(of->kv_lora_rank, of->value_length));
    }
  }
  std::vector<uint32_t> rows(most);
  std::iota(rows.begin(), rows.end(), 0);
  return at = commands_.input(std::as_bytes(std::span(rows)));
}

Place LatentCommands::minus_zeros() {
  Place& at = layers_.latent_inputs_.minus_zeros;
  if (at) return at;
  const std::vector<float> zeros(kMaxHeadDim, -0.0f);
  return at = commands_.input(std::as_bytes(std::span(zeros)));
}

}  // namespace hearth
