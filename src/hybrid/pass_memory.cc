#include "hybrid/pass_memory.h"

namespace hearth {

PassMemory::PassMemory(Accelerator& accelerator, const PassCommands& largest)
    : layout_(largest.layout()) {
  const auto take = [&](uint64_t bytes) {
    return buffers_.emplace_back(accelerator.allocate(bytes)).id();
  };
  ids_.inputs = take(largest.held_bytes());
  if (largest.made_bytes() > 0) ids_.made = take(largest.made_bytes());
  for (uint64_t bytes : layout_.pieces) ids_.values.push_back(take(bytes));
}

}  // namespace hearth
