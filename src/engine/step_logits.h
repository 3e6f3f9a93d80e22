// The logits of a step's rows, in the places where the LM head computed them: every shard's columns
// of the vocabulary on its own node, and the largest of every 16 columns. row() gathers a whole
// row. best() needs only the best tokens of a row: it reads the maxima, and as many panels as
// tokens are wanted. Used between steps by the threads of the engine's team, each of which reads
// rows of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/logits.h"
#include "graph/step_view.h"
#include "tensor/axis_cuts.h"

namespace hearth {

class StepLogits {
 public:
  // Lays out up to `rows` rows of a vocabulary, whose axis is cut in units of kPanelRows.
  StepLogits(uint32_t vocabulary, uint32_t rows, const AxisCuts& cuts);

  // Returns the bytes that shard s takes, a multiple of 64. On shard 0 they include a row to gather
  // in, if there is more than one shard.
  size_t bytes(uint32_t shard) const;
  // Sets the address of these bytes; `base` is 64-byte aligned.
  void place(uint32_t shard, std::byte* base);

  // Sets how many threads may read rows at the same time, each by its number; 1 at first.
  void set_readers(uint32_t readers) { readers_.resize(readers); }

  // Returns the parts for the StepView of a new step; rows that were given out are no longer valid.
  std::span<const ShardLogits> begin_step();

  // Returns the parts of all shards, with row `first` as their row 0.
  std::vector<ShardLogits> parts_from(size_t first) const;
  // Calls call(logits, first) for runs of columns [first, first + logits.size()) of row i,
  // ascending, which together are tokens [0, below). Any thread may call it.
  template <typename Call>
  void for_each_run(size_t i, uint32_t below, const Call& call) const {
    for (size_t s = 0; s < parts_.size(); ++s) {
      const uint32_t first = first_panel_[s] * kPanelRows;
      const uint32_t end = std::min(first_panel_[s + 1] * kPanelRows, below);
      if (first < end) call(std::span<const float>(parts_[s].row(i), end - first), first);
    }
  }

  // Returns row i: [vocabulary]. It is valid until this reader asks for another row. Readers other
  // than 0 allocate memory for it.
  std::span<const float> row(size_t i, uint32_t reader = 0);
  // Returns the `count` likeliest of tokens [0, below), or all if there are fewer, the likeliest
  // first; empty if a logit of any of them is not finite. Row i must be one that tokens are sampled
  // from. The result is valid until this reader's next call.
  std::span<const TokenLogit> best(size_t i, uint32_t count, uint32_t below, uint32_t reader = 0);

 private:
  struct alignas(64) Reader {
    std::vector<float> row;          // gathered row; reader 0 uses row_
    std::optional<size_t> gathered;  // number of that row
    TopTokens panels, tokens;
  };

  size_t part_bytes(uint32_t shard) const;
  size_t row_bytes() const;
  template <typename Call>
  void for_each_maxima(size_t i, uint32_t below, const Call& call) const;
  std::optional<float> min_maximum(size_t i, uint32_t count, uint32_t below) const;
  std::span<const float> columns(size_t i, uint32_t begin, uint32_t end) const;

  uint32_t vocabulary_, rows_;
  std::vector<ShardLogits> parts_;  // by shard
  // Each shard's first panel, and last the number of all panels.
  std::vector<uint32_t> first_panel_;
  float* row_ = nullptr;
  std::vector<Reader> readers_{1};
};

}  // namespace hearth
