// The accelerators of this machine that Vulkan drives. One thread at a time, as loader.h says.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/vulkan/vulkan_accelerator.h"

namespace hearth {

struct VulkanFound {
  AcceleratorFacts facts;
  std::string refused;  // what is missing, and the remedy; empty: it can be used
};

// Opens each for a moment to probe its arithmetic. Where there are none, `why_none` says why and
// what to do.
std::vector<VulkanFound> find_vulkan(std::string* why_none);

// The index-th of these. Throws Error: kUnsupported where it cannot be used, kResource where it is
// there no longer.
std::unique_ptr<Accelerator> open_vulkan(size_t index, const VulkanOptions& options = {});

}  // namespace hearth
