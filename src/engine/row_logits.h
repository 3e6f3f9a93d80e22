// RowLogits: the logits of one row, read by sampling. The likeliest few tokens are often enough;
// else all() gives the whole row.
#pragma once

#include <cstdint>
#include <span>

#include "engine/engine.h"
#include "engine/logits.h"

namespace hearth {

class RowLogits {
 public:
  virtual ~RowLogits() = default;

  // Returns the `count` likeliest of tokens [0, below), or all if there are fewer, the likeliest
  // first; empty if a logit of any of them is not finite. Valid until the next call.
  virtual std::span<const TokenLogit> best(uint32_t count, uint32_t below) = 0;
  // Returns all logits of the row, [vocabulary]. Valid until the next call.
  virtual std::span<const float> all() = 0;
};

// Row i of the engine's last step, as one member of its team reads it.
class EngineRow final : public RowLogits {
 public:
  EngineRow(const Engine& engine, size_t i, uint32_t member = 0)
      : engine_(engine), i_(i), member_(member) {}

  std::span<const TokenLogit> best(uint32_t count, uint32_t below) override {
    return engine_.best(i_, count, below, member_);
  }
  std::span<const float> all() override { return engine_.logits(i_, member_); }

 private:
  const Engine& engine_;
  size_t i_;
  uint32_t member_;
};

}  // namespace hearth
