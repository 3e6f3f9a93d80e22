// An architecture describes a model with a SpecBuilder. It declares weights, each with its tensor
// or the part of a tensor that it is, and returns their WeightIds, which blocks hold.
// models/make_blocks.h makes whole blocks with it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/model_keys.h"
#include "models/model_spec.h"
#include "models/weight_policy.h"

namespace hearth {

// W[rows, k], cut along an axis. An item of the axis has `item_size` rows (kRows) or columns
// (kColumns).
struct MatrixPlace {
  const char* member;
  std::string name;  // of its tensor; for a LinearRef without ".weight"
  uint32_t rows, k;
  WeightCut cut = WeightCut::kRows;
  AxisId axis = 0;
  uint32_t item_size = 1;
  // The rows [first, first + rows) of a tensor that has `all_rows`; 0: it is all of its tensor.
  uint32_t first = 0, all_rows = 0;
  ColumnRuns column_runs = {};

  uint32_t tensor_rows() const { return all_rows != 0 ? all_rows : rows; }
  // Returns the place as rows [at, at + rows) of another tensor, which has `of` rows.
  MatrixPlace within(std::string other, uint32_t at, uint32_t of) const {
    MatrixPlace part = *this;
    part.name = std::move(other);
    part.first = at;
    part.all_rows = of;
    return part;
  }
};

// The norm tensors of a block, by their use (models/blocks.h), without "blk.N." and ".weight";
// null: there is none.
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

  // Returns whether the source has the tensor. For tensors that may be missing or fused into
  // others.
  bool has(const std::string& name) const { return source().find_tensor(name) != nullptr; }
  // Returns the rows of a tensor that the source must have.
  uint64_t rows_of(const std::string& name) const { return source().require_tensor(name).rows(); }
  // Marks a tensor as known and ignored: the source may have it, and other tensors hold the same.
  void says_nothing_new(std::string name) { known_.insert(std::move(name)); }

  // Declares an axis. If an equal one was declared before, returns that.
  AxisId axis(AxisSpec axis);
  // Declares query heads with `columns` columns each in the output projection, and their KV heads,
  // which are cut with them. They get an axis of their own, unless an equal one was declared
  // before.
  struct HeadAxes {
    AxisId heads, kv_heads;
  };
  HeadAxes head_axes(uint32_t heads, uint32_t kv_heads, uint32_t columns);

  // Declares a matrix; `layer` is -1 outside the layers.
  WeightId matrix(int layer, const MatrixPlace& place);
  // Declares W[rows, k] of every item of the axis, one above the other. The tensor's third
  // dimension counts the items.
  WeightId stacked(int layer, MatrixPlace place);
  // Declares a matrix without a cut: every shard has a copy. With `widened`, it is packed as f32.
  WeightId replicated(int layer, MatrixPlace place, bool widened = false);
  // Declares name.weight, and name.bias if there is one.
  LinearRef linear(int layer, MatrixPlace place);
  // Declares a linear layer of which every shard has a copy, packed as f32.
  LinearRef replicated_linear(int layer, MatrixPlace place);
  // Declares the matrices of each of `count` experts. An item of the axis is one row or column, and
  // the tensors' third dimension counts experts. Returns the first expert's first matrix; an
  // expert's matrices follow each other, and so do experts.
  WeightId experts(int layer, uint32_t count, const std::vector<MatrixPlace>& matrices);
  WeightId vector(int layer, const char* member, std::string name, uint32_t size);
  WeightId vector_where_there(int layer, const char* member, const std::string& name,
                              uint32_t size);
  // Declares elements [first, first + size) of a tensor of `dims` as a vector.
  WeightId vector_part(int layer, const char* member, std::string name, uint32_t size,
                       uint32_t first, const std::vector<uint64_t>& dims);
  // Declares a tensor of `rows` rows of `columns` elements as a vector, stored by columns.
  WeightId table(int layer, const char* member, std::string name, uint32_t rows, uint32_t columns);
  // Returns a table of `rows` rows of `columns` elements that stays in the file
  // (formats/file_rows.h): it becomes no weight.
  const SourceTensor& table_in_file(const std::string& name, uint32_t columns, uint32_t rows);
  // Throws Error (kFile) if an element of the vector is above 0 or not finite.
  void check_not_positive(WeightId vector) const;
  // Returns the epsilon of RMS norms.
  float epsilon() const;
  // Declares name.weight, and for a layer norm name.bias if there is one.
  NormRef norm(int layer, NormKind kind, const char* member, const std::string& name,
               uint32_t size);

  // The start of the stream. The axis of its rows also cuts the logits.
  EmbeddingBlock& embedding() { return spec_.embedding; }
  void set_vocabulary_axis(AxisId axis) { spec_.vocabulary_axis = axis; }
  // Appends a layer.
  void append(Layer layer) { spec_.layers.push_back(std::move(layer)); }
  // Appends a layer of attention and a feed-forward block. Callers write layer({...}): a braced
  // list is evaluated in order, and weights are declared while blocks are made.
  struct Halves {
    Body attention, feed_forward;
    Residual residual;
  };
  void layer(Halves halves);
  // Returns a block of the layer that is appended next, with norms of the model's width.
  Block joined(Body body, NormKind kind, const NormNames& names);
  void set_last_norm(const NormRef& norm) { spec_.last_norm = norm; }
  // Sets the matrix that gives logits. A model whose rows see later rows has none.
  void set_head(WeightId head) { spec_.head = head; }
  void set_logit_cap(float cap) { spec_.logit_cap = cap; }
  void set_score(const ScoreBlock& score) { spec_.score = score; }

  // Throws Error (kUnsupported), naming a tensor of the source that was not declared or a key that
  // was not read: a model of which this program ignores something would give wrong text.
  ModelSpec finish(const Architecture& architecture, const WeightPolicy& policy) &&;

 private:
  const SourceTensor& tensor(const std::string& name, const std::vector<uint64_t>& dims) const;
  WeightId declare(int layer, const MatrixPlace& place, const SourceTensor& data, uint32_t first,
                   int expert = -1);
  // Returns the factor of a matrix of NVFP4 for rows from `first` on. It is in NAME.scale beside
  // NAME.weight, which has one number, or one for each expert. Throws Error (kFile) if that tensor
  // has another shape, or a number that is not positive.
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
