// Opens libvulkan when the program runs, so that the program starts without it. Used by one thread
// at a time, since volk keeps the functions of instances in a table of its own.
#pragma once

#include <volk.h>

#include <memory>
#include <string>
#include <vector>

namespace hearth {

class VulkanInstance {
 public:
  // Opens an instance. Returns none where there is no Vulkan 1.3; `why_none` then gets a sentence
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
