// Turns the texts of a pass into a step, from which commands are made. The texts' pages get the
// numbers that they have on the accelerator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/step_view.h"
#include "hybrid/pass_runner.h"

namespace hearth {

class PrefillStep {
 public:
  explicit PrefillStep(std::span<const PassText> texts);

  StepView view() const;
  // Returns for each text its first page on the accelerator.
  std::span<const uint32_t> first_pages() const { return first_pages_; }

 private:
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_, first_pages_;
  std::vector<StepItem> items_;
};

// A pass of the most rows, in texts of the most positions. In models with latents, half of each
// text's rows are expanded. So this pass makes all kinds of calls that passes can make.
class LargestPass {
 public:
  LargestPass(uint32_t context, uint32_t rows);

  const PrefillStep& step() const { return step_; }

 private:
  static std::vector<PassText> texts(std::span<const int32_t> tokens, uint32_t context);

  std::vector<int32_t> tokens_;
  PrefillStep step_;
};

}  // namespace hearth
