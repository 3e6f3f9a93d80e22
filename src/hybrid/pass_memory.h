// The memory of an accelerator in which passes compute. It holds their inputs, and their values in
// as many pieces as the largest pass was laid out in. Smaller passes use the places of the largest.
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

  const PassCommands::Buffers& buffers() const { return ids_; }
  const PassLayout& layout() const { return layout_; }

 private:
  PassLayout layout_;
  std::vector<Buffer> buffers_;
  PassCommands::Buffers ids_ = {kNoBuffer, kNoBuffer, {}};
};

}  // namespace hearth
