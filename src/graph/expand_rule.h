// Says which rows of a prompt are expanded (graph/ops/latent.h), in models that have latents (MLA).
// These are the rows of its first positions. Their number is a multiple of `step`, and leaves
// `tail` or more rows absorbed:
//
//   expanded = floor((prompt - tail) / step) step, at least 0
//
// The number follows only from the prompt's length, so a row's bits depend on nothing else
// (docs/design/latents.md gives the reasons for both numbers).
#pragma once

#include <cstdint>

namespace hearth {

struct ExpandRule {
  uint32_t tail = 256, step = 512;

  // Returns how many positions of a prompt are expanded; with step 0 none.
  uint32_t positions(uint32_t prompt) const {
    return step == 0 || prompt < tail ? 0 : (prompt - tail) / step * step;
  }
};

}  // namespace hearth
