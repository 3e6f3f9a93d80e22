// Finds and opens the accelerators of this machine that have a Vulkan driver. Only one thread at a
// time may use it (loader.h).
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
  std::string refused;  // what is missing, and the remedy; empty: it is usable
};

// Opens each accelerator briefly to probe its arithmetic, and returns all of them. If there are
// none, `why_none` gets the reason and the remedy.
std::vector<VulkanFound> find_vulkan(std::string* why_none);

// Opens accelerator `index` of find_vulkan(). Throws Error: kUnsupported where it cannot be used,
// kResource where it no longer exists.
std::unique_ptr<Accelerator> open_vulkan(size_t index, const VulkanOptions& options = {});

}  // namespace hearth
