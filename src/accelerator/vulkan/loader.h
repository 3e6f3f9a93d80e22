// Opens libvulkan when the program already runs, so that the program also starts without that
// library. Only one thread at a time may use it, since volk keeps the functions of instances in one
// table.
#pragma once

#include <volk.h>

#include <memory>
#include <string>
#include <vector>

namespace hearth {

class VulkanInstance {
 public:
  // Opens an instance. Returns null where there is no Vulkan 1.3; `why_none` then gets a sentence
  // with the remedy.
  static std::shared_ptr<const VulkanInstance> open(std::string* why_none);

  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;
  ~VulkanInstance();

  std::vector<VkPhysicalDevice> devices() const;

 private:
  explicit VulkanInstance(VkInstance handle) : handle_(handle) {}

  VkInstance handle_;
};

// Returns the result in words, for example "out of device memory".
std::string vulkan_text(VkResult result);

// Returns the version as text, for example "1.3.230".
std::string vulkan_version(uint32_t version);

}  // namespace hearth
