// Finds and opens the accelerators of this machine that Vulkan drives. Used by one thread at a time
// (loader.h).
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

// Returns all accelerators, each opened briefly to probe its arithmetic. Where there are none,
// `why_none` gets the reason and the remedy.
std::vector<VulkanFound> find_vulkan(std::string* why_none);

// Opens accelerator `index` of find_vulkan(). Throws Error: kUnsupported where it cannot be used,
// kResource where it no longer exists.
std::unique_ptr<Accelerator> open_vulkan(size_t index, const VulkanOptions& options = {});

}  // namespace hearth
