// SpecBuilder: what an architecture describes a model with. It declares weights, each with the
// tensor that it is (a part) of, and gives their places, which blocks hold. models/make_blocks.h
// makes whole blocks with it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/model_keys.h"
#include "models/model_spec.h"
#include "models/weight_policy.h"

namespace hearth {

// W[rows, k], cut along an axis, an item of which has `item_size` rows (kRows) or columns
// (kColumns).
struct MatrixPlace {
  const char* member;
  std::string name;  // of its tensor; of a LinearRef without ".weight"
  uint32_t rows, k;
  WeightCut cut = WeightCut::kRows;
  AxisId axis = 0;
  uint32_t item_size = 1;
  // The rows [first, first + rows) of a tensor that has `all_rows`; 0: it is all of its tensor.
  uint32_t first = 0, all_rows = 0;
  ColumnRuns column_runs = {};

  uint32_t tensor_rows() const { return all_rows != 0 ? all_rows : rows; }
  // Returns the place as rows of another tensor, from `at` on of the `of` that it has.
  MatrixPlace within(std::string other, uint32_t at, uint32_t of) const {
    MatrixPlace part = *this;
    part.name = std::move(other);
    part.first = at;
    part.all_rows = of;
    return part;
  }
};

// Tensors of the norms of a block, by what they do (models/blocks.h), without "blk.N." and
// ".weight"; null: there is none.
struct NormNames {
  const char* before = nullptr;
  const char* behind = nullptr;
  const char* outer = nullptr;
  const char* inner = nullptr;
  const char* after = nullptr;
};

// How attention and the feed-forward half of a layer join the stream.
struct Residual {
  NormKind kind = NormKind::kRms;
  NormNames attention, feed_forward;
};

class SpecBuilder {
 public:
  using Body = decltype(Block::body);

  // Reads the hyper-parameters of the whole model.
  explicit SpecBuilder(const ModelSource& source);

  const ModelSource& source() const { return keys_.source(); }
  const HyperParameters& hyper() const { return spec_.hyper; }
  const ModelKeys& keys() const { return keys_; }
  ModelKeys keys(uint32_t layer) const { return keys_.of_layer(layer); }

  // Whether the source has the tensor. Only for tensors that may be missing, or fused into others.
  bool has(const std::string& name) const { return source().find_tensor(name) != nullptr; }
  // Returns the rows of a tensor that must be there.
  uint64_t rows_of(const std::string& name) const { return source().require_tensor(name).rows(); }
  // Marks a tensor as known that may be there, and is ignored since others hold the same.
  void says_nothing_new(std::string name) { known_.insert(std::move(name)); }

  // Declares an axis; one that is equal to a former one is that one.
  AxisId axis(AxisSpec axis);
  // Query heads with `columns` columns each in the output projection, and their KV heads, which are
  // cut with them: an axis of their own, unless all of it is the same.
  struct HeadAxes {
    AxisId heads, kv_heads;
  };
  HeadAxes head_axes(uint32_t heads, uint32_t kv_heads, uint32_t columns);

  // `layer` is -1 outside the layers.
  WeightId matrix(int layer, const MatrixPlace& place);
  // W[rows, k] of every item of the axis, one above the other; the tensor's third dimension counts
  // them.
  WeightId stacked(int layer, MatrixPlace place);
  // A matrix without a cut: every shard has a copy. With `widened`, packed as f32.
  WeightId replicated(int layer, MatrixPlace place, bool widened = false);
  // name.weight, and name.bias where there is one.
  LinearRef linear(int layer, MatrixPlace place);
  // Adds a linear layer of which every shard has a copy, packed as f32.
  LinearRef replicated_linear(int layer, MatrixPlace place);
  // Matrices of every one of `count` experts, of which an item of the axis is one row or column:
  // tensors whose third dimension counts experts. Returns those of the first; an expert's follow
  // each other, and so do experts.
  WeightId experts(int layer, uint32_t count, const std::vector<MatrixPlace>& matrices);
  WeightId vector(int layer, const char* member, std::string name, uint32_t size);
  WeightId vector_where_there(int layer, const char* member, const std::string& name,
                              uint32_t size);
  // Elements [first, first + size) of a tensor of `dims`.
  WeightId vector_part(int layer, const char* member, std::string name, uint32_t size,
                       uint32_t first, const std::vector<uint64_t>& dims);
  // A tensor of `rows` rows of `columns` elements as a vector, held by columns.
  WeightId table(int layer, const char* member, std::string name, uint32_t rows, uint32_t columns);
  // A table of `rows` rows of `columns` elements that stays in the file (formats/file_rows.h): no
  // weight is made of it.
  const SourceTensor& table_in_file(const std::string& name, uint32_t columns, uint32_t rows);
  // Throws (kFile) where an element of the vector is above 0, or no finite number.
  void check_not_positive(WeightId vector) const;
  // Returns the epsilon of RMS norms.
  float epsilon() const;
  // name.weight, and of a layer norm name.bias where there is one.
  NormRef norm(int layer, NormKind kind, const char* member, const std::string& name,
               uint32_t size);

  // The start of the stream and the axis of its rows, which the logits are cut along as well.
  EmbeddingBlock& embedding() { return spec_.embedding; }
  void set_vocabulary_axis(AxisId axis) { spec_.vocabulary_axis = axis; }
  // Appends a layer.
  void append(Layer layer) { spec_.layers.push_back(std::move(layer)); }
  // layer() appends a layer of attention and a feed-forward block. Callers write layer({...}): a
  // braced list is evaluated in order, and weights are declared as blocks are made.
  struct Halves {
    Body attention, feed_forward;
    Residual residual;
  };
  void layer(Halves halves);
  // A block of the layer that is appended next, with norms of the model's width.
  Block joined(Body body, NormKind kind, const NormNames& names);
  void set_last_norm(const NormRef& norm) { spec_.last_norm = norm; }
  // Sets the matrix that gives logits; a model whose rows see what comes after them gives none.
  void set_head(WeightId head) { spec_.head = head; }
  void set_logit_cap(float cap) { spec_.logit_cap = cap; }
  void set_score(const ScoreBlock& score) { spec_.score = score; }

  // Throws (kUnsupported) naming a tensor of the source that nothing declared, or a key that nobody
  // read: a model of which this program ignores something would give wrong text.
  ModelSpec finish(const Architecture& architecture, const WeightPolicy& policy) &&;

 private:
  const SourceTensor& tensor(const std::string& name, const std::vector<uint64_t>& dims) const;
  WeightId declare(int layer, const MatrixPlace& place, const SourceTensor& data, uint32_t first,
                   int expert = -1);
  // Returns the number that rows of a matrix of NVFP4 from `first` on are multiplied by: that of
  // NAME.scale beside NAME.weight, which has one, or one for each expert. Throws (kFile) where it
  // is of another shape, or no positive number.
  float scale_of(const SourceTensor& data, uint32_t first);
  bool is_harmless(std::string_view name) const;
  void check_all_used() const;
  void check_experts() const;
  void settle_types();

  ModelKeys keys_;
  ModelSpec spec_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace hearth
