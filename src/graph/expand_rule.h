// Says which rows of a prompt attend to expanded latents (graph/ops/latent.h), in models that have
// latents (MLA): those of its first multiple of `step` positions that leaves `tail` or more behind
// it. It follows from the prompt's length alone, so a row's bits depend on nothing else
// (docs/design/latents.md says why these).
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
