#include "accelerator/vulkan/dispatch.h"

namespace hearth {

std::vector<Dispatch> dispatches_of(const KernelCall& call, const AddressOf& address) {
  return std::visit([&address](const auto& of) { return dispatches_of(of, address); }, call);
}

}  // namespace hearth
