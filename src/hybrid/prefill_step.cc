#include "hybrid/prefill_step.h"

#include <algorithm>

#include "kernels/attention/attention.h"

namespace hearth {

PrefillStep::PrefillStep(std::span<const PassText> texts) {
  uint32_t page = 0;
  for (const PassText& text : texts) {
    const auto first_row = static_cast<uint32_t>(tokens_.size());
    const auto rows = static_cast<uint32_t>(text.tokens.size());
    tokens_.insert(tokens_.end(), text.tokens.begin(), text.tokens.end());
    for (uint32_t r = 0; r < rows; ++r) {
      positions_.push_back(text.first_position + r);
      row_items_.push_back(static_cast<uint32_t>(items_.size()));
    }
    items_.push_back({first_row, rows, text.first_position, nullptr,
                      expanded_part(text.expanded, text.first_position, rows)});
    first_pages_.push_back(page);
    page += pages_for(text.first_position + rows);
  }
}

StepView PrefillStep::view() const {
  StepView step;
  step.tokens = tokens_;
  step.positions = positions_;
  step.row_items = row_items_;
  step.items = items_;
  return step;
}

LargestPass::LargestPass(uint32_t context, uint32_t rows)
    : tokens_(rows), step_(texts(tokens_, context)) {}

std::vector<PassText> LargestPass::texts(std::span<const int32_t> tokens, uint32_t context) {
  std::vector<PassText> texts;
  for (size_t at = 0; at < tokens.size(); at += context) {
    const auto rows = std::min<size_t>(context, tokens.size() - at);
    texts.push_back({tokens.subspan(at, rows), 0, {}, {}, static_cast<uint32_t>(rows / 2)});
  }
  return texts;
}

}  // namespace hearth
