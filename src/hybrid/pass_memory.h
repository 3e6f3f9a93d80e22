// The memory of an accelerator in which passes compute. It holds their inputs, and their values in
// as many pieces as the largest pass was laid out in. A smaller pass may be laid out by itself,
// which leaves the ends of the pieces free.
#pragma once

#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/pass_commands.h"

namespace hearth {

class PassMemory {
 public:
  PassMemory() = default;
  // Allocates the buffers of the largest pass, which must have been laid out. Throws Error
  // (kResource) where memory is short.
  PassMemory(Accelerator& accelerator, const PassCommands& largest);

  // The layout of a pass, and the places behind its values that have room for a berth.
  struct Fit {
    PassLayout layout;
    std::vector<Place> berths;
  };
  // Returns the layout of a smaller pass with as many berths of so many bytes as there is room for.
  // Where it does not fit the pieces, the layout is that of the largest pass, without berths.
  Fit fit(const PassLayout& smaller, uint64_t berth_bytes) const;

  const PassCommands::Buffers& buffers() const { return ids_; }
  const PassLayout& layout() const { return layout_; }

 private:
  PassLayout layout_;
  std::vector<Buffer> buffers_;
  PassCommands::Buffers ids_ = {kNoBuffer, kNoBuffer, {}};
};

}  // namespace hearth
