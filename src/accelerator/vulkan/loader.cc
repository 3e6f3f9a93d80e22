#include "accelerator/vulkan/loader.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hearth {

std::shared_ptr<const VulkanInstance> VulkanInstance::open(std::string* why_none) {
  static const bool loaded = volkInitialize() == VK_SUCCESS;
  if (!loaded) {
    *why_none =
        "there is no libvulkan.so.1 here; install the package libvulkan1 and the driver of the "
        "card";
    return nullptr;
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_3) {
    *why_none = fmt::format("libvulkan.so.1 is of Vulkan {}; install one of 1.3 or later",
                            vulkan_version(volkGetInstanceVersion()));
    return nullptr;
  }
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "Hearth";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance handle = VK_NULL_HANDLE;
  const VkResult result = vkCreateInstance(&info, nullptr, &handle);
  if (result != VK_SUCCESS) {
    *why_none = fmt::format(
        "libvulkan.so.1 finds no driver ({}); install the Vulkan driver of the card, such as "
        "mesa-vulkan-drivers or nvidia-vulkan-icd",
        vulkan_text(result));
    return nullptr;
  }
  volkLoadInstanceOnly(handle);
  return std::shared_ptr<const VulkanInstance>(new VulkanInstance(handle));
}

VulkanInstance::~VulkanInstance() { vkDestroyInstance(handle_, nullptr); }

std::vector<VkPhysicalDevice> VulkanInstance::devices() const {
  std::vector<VkPhysicalDevice> devices;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    uint32_t count = 0;
    result = vkEnumeratePhysicalDevices(handle_, &count, nullptr);
    devices.resize(count);
    if (result == VK_SUCCESS && count > 0) {
      result = vkEnumeratePhysicalDevices(handle_, &count, devices.data());
      devices.resize(count);
    }
  }
  // A driver that has no device reports that it cannot be initialised.
  if (result == VK_ERROR_INITIALIZATION_FAILED) return {};
  if (result != VK_SUCCESS) {
    fail(ErrorCode::kResource, "Vulkan cannot list the accelerators: {}; see the system's log",
         vulkan_text(result));
  }
  return devices;
}

std::string vulkan_text(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "out of the host's memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "out of the accelerator's memory";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "initialisation failed";
    case VK_ERROR_DEVICE_LOST:
      return "the device is lost";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "memory cannot be mapped";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "an extension is missing";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "a feature is missing";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "incompatible driver";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "too many objects";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE:
      return "the memory cannot be shown to it";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

std::string vulkan_version(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

}  // namespace hearth
