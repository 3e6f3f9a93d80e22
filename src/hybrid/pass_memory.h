// The memory in which passes compute on an accelerator: their inputs and their values. It has the
// pieces into which the largest pass was laid out. A smaller pass may have a layout of its own,
// which leaves the ends of the pieces free.
#pragma once

#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/pass_commands.h"

namespace hearth {

class PassMemory {
 public:
  PassMemory() = default;
  // Allocates the buffers of the largest pass, whose lay_out() must have been called. Throws Error
  // (kResource) where memory is short.
  PassMemory(Accelerator& accelerator, const PassCommands& largest);

  // A layout for passes, and the berths that have room in the pieces behind its values.
  struct Fit {
    PassLayout layout;
    std::vector<Place> berths;
  };
  // Returns the layout of a smaller pass, with as many berths of `berth_bytes` bytes as there is
  // room for. If that layout does not fit the pieces, returns the layout of the largest pass
  // without berths.
  Fit fit(const PassLayout& smaller, uint64_t berth_bytes) const;

  const PassCommands::Buffers& buffers() const { return ids_; }
  const PassLayout& layout() const { return layout_; }

 private:
  PassLayout layout_;
  std::vector<Buffer> buffers_;
  PassCommands::Buffers ids_ = {kNoBuffer, kNoBuffer, {}};
};

}  // namespace hearth
