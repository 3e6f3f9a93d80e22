#include "accelerator/vulkan/find.h"

#include "base/error.h"

namespace hearth {

std::vector<VulkanFound> find_vulkan(std::string* why_none) {
  const std::shared_ptr<const VulkanInstance> instance = VulkanInstance::open(why_none);
  if (instance == nullptr) return {};
  std::vector<VulkanFound> found;
  for (const VkPhysicalDevice handle : instance->devices()) {
    const PhysicalDevice physical = describe_physical(handle);
    VulkanFound& one = found.emplace_back(VulkanFound{physical.facts, physical.refused});
    if (!one.refused.empty()) continue;
    try {
      one.facts = VulkanAccelerator(instance, physical, {}).facts();
    } catch (const Error& error) {
      one.refused = error.what();
    }
  }
  if (found.empty()) {
    *why_none =
        "Vulkan's drivers find no device; install the driver of the card, and see that this user "
        "may open /dev/dri or /dev/nvidia*";
  }
  return found;
}

std::unique_ptr<Accelerator> open_vulkan(size_t index, const VulkanOptions& options) {
  std::string why_none;
  const std::shared_ptr<const VulkanInstance> instance = VulkanInstance::open(&why_none);
  if (instance == nullptr) fail(ErrorCode::kUnsupported, "{}", why_none);
  const std::vector<VkPhysicalDevice> devices = instance->devices();
  if (index >= devices.size()) {
    fail(ErrorCode::kResource, "accelerator {} is gone, as Vulkan now finds only {}: start again",
         index, devices.size());
  }
  const PhysicalDevice physical = describe_physical(devices[index]);
  if (!physical.refused.empty()) {
    fail(ErrorCode::kUnsupported, "{} cannot be used: {}", physical.facts.name, physical.refused);
  }
  return std::make_unique<VulkanAccelerator>(instance, physical, options);
}

}  // namespace hearth
