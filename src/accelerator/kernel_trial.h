// A call to be timed, of a contract that is not a product, with memory to work on. Its values are
// harmless constants, since the time of such a call does not depend on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

// A contract to be timed, with the length of its rows in floats. For attention it is the length of
// a head, and for latents that of a position.
struct TrialKind {
  std::string contract;
  uint32_t length = 0;
  bool attends = false;  // whether work grows with the square of the rows
};
std::vector<TrialKind> trial_kinds();

class KernelTrial {
 public:
  // `rows` is a multiple of 64. Throws Error (kResource) where memory is short.
  KernelTrial(Accelerator& accelerator, const TrialKind& kind, uint32_t rows);

  const KernelCall& call() const { return call_; }
  CommandList list(uint32_t commands) const;

 private:
  // Returns the place of `count` floats of 1.
  Place floats(uint64_t count);
  FloatRows matrix(uint64_t stride) { return {floats(stride * rows_), stride}; }
  Place zeros(uint64_t bytes);
  Place add(std::span<const std::byte> bytes);
  KernelCall norm(const std::string& contract, uint32_t n);
  KernelCall gate(const std::string& contract, uint32_t n);
  KernelCall rope(const std::string& contract, uint32_t n);
  KernelCall quantize(const std::string& contract, uint32_t n);
  KernelCall make(const TrialKind& kind);
  // slots() returns the place of the rows' slots in the pages that the rows fill, and rows_seen()
  // the place of the positions that each row sees.
  Place slots();
  Place rows_seen();
  KernelCall paged(const TrialKind& kind);
  KernelCall latent(const TrialKind& kind);

  Accelerator& accelerator_;
  const uint32_t rows_;
  std::vector<Buffer> buffers_;
  KernelCall call_;
};

}  // namespace hearth
