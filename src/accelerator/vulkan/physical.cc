#include "accelerator/vulkan/physical.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "accelerator/vulkan/loader.h"

namespace hearth {

namespace {

// The largest workgroup in shaders/, in invocations, and the most bytes that a workgroup shares.
constexpr uint32_t kGroupInvocations = 256;
constexpr uint32_t kGroupSharedBytes = 32768;

struct WantedFeature {
  const char* name;
  VkBool32& (*at)(FeatureChain& chain);
  bool needed;  // false: it is used only if the device has it
};

#define HEARTH_FEATURE(part, name, needed)                                   \
  WantedFeature {                                                            \
#name, [](FeatureChain & c) -> VkBool32& { return c.part.name; }, needed \
  }

constexpr WantedFeature kWantedFeatures[] = {
    HEARTH_FEATURE(core.features, shaderInt64, true),
    HEARTH_FEATURE(core.features, shaderInt16, true),
    HEARTH_FEATURE(core.features, shaderFloat64, false),
    HEARTH_FEATURE(of_1_1, storageBuffer16BitAccess, true),
    HEARTH_FEATURE(of_1_2, storageBuffer8BitAccess, true),
    HEARTH_FEATURE(of_1_2, shaderInt8, true),
    HEARTH_FEATURE(of_1_2, shaderFloat16, false),
    HEARTH_FEATURE(of_1_2, scalarBlockLayout, false),
    HEARTH_FEATURE(of_1_2, timelineSemaphore, true),
    HEARTH_FEATURE(of_1_2, bufferDeviceAddress, true),
    HEARTH_FEATURE(of_1_3, synchronization2, true),
    HEARTH_FEATURE(of_1_3, maintenance4, true),
    HEARTH_FEATURE(of_1_3, shaderIntegerDotProduct, true),
};

#undef HEARTH_FEATURE

struct PropertyChain {
  VkPhysicalDeviceProperties2 core = {};
  VkPhysicalDeviceVulkan11Properties of_1_1 = {};
  VkPhysicalDeviceVulkan12Properties of_1_2 = {};
  VkPhysicalDeviceVulkan13Properties of_1_3 = {};
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {};
};

AcceleratorKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return AcceleratorKind::kDiscrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return AcceleratorKind::kIntegrated;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return AcceleratorKind::kSoftware;
    default:
      return AcceleratorKind::kOther;
  }
}

std::vector<std::string> extension_names(VkPhysicalDevice handle) {
  uint32_t count = 0;
  if (vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr) != VK_SUCCESS) {
    return {};
  }
  std::vector<VkExtensionProperties> all(count);
  const VkResult result = vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, all.data());
  std::vector<std::string> names;
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return names;
  for (uint32_t i = 0; i < count; ++i) names.emplace_back(all[i].extensionName);
  return names;
}

// Chooses the queues: one that computes, and one of a family that only copies, if there is such a
// family. write() and read() get a second queue of one of these families, if one has a second; else
// they share the last of the queues.
void choose_queues(PhysicalDevice* device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device->handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device->handle, &count, families.data());
  uint32_t computes = UINT32_MAX, copies = UINT32_MAX;
  for (uint32_t f = 0; f < count; ++f) {
    constexpr VkQueueFlags kWork = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    constexpr VkQueueFlags kVideo = 0x20 | 0x40;  // families for video also copy
    const VkQueueFlags flags = families[f].queueFlags;
    if ((flags & VK_QUEUE_COMPUTE_BIT) != 0) {
      // This prefers a family that also draws, since all drivers are tested with it.
      if (computes == UINT32_MAX || (flags & VK_QUEUE_GRAPHICS_BIT) != 0) computes = f;
    } else if ((flags & VK_QUEUE_TRANSFER_BIT) != 0 && (flags & (kWork | kVideo)) == 0) {
      if (copies == UINT32_MAX) copies = f;
    }
  }
  if (computes == UINT32_MAX) {
    device->refused = "it has no queue that computes; use another";
    return;
  }
  device->queues = {{computes, 0}};
  device->facts.queues = {{.computes = true}};
  if (copies != UINT32_MAX) {
    device->queues.push_back({copies, 0});
    device->facts.queues.push_back({.computes = false});
  } else {
    device->facts.lacks.push_back({"a queue for copies", "copies and kernels take turns"});
  }
  device->own_copies = device->queues.back();
  for (const QueuePlace& queue : device->queues) {
    if (families[queue.family].queueCount > 1) device->own_copies = {queue.family, 1};
  }
}

void choose_features(PhysicalDevice* device) {
  FeatureChain offered;
  vkGetPhysicalDeviceFeatures2(device->handle, offered.link());
  std::vector<std::string_view> missing;
  for (const WantedFeature& wanted : kWantedFeatures) {
    const bool has = wanted.at(offered) == VK_TRUE;
    if (has) wanted.at(device->features) = VK_TRUE;
    if (!has && wanted.needed) missing.emplace_back(wanted.name);
  }
  device->has_float64 = offered.core.features.shaderFloat64 == VK_TRUE;
  if (!missing.empty()) {
    device->refused =
        fmt::format("it lacks {}, which the shaders need; install a newer driver or use another",
                    fmt::join(missing, ", "));
  }
}

void choose_memory(PhysicalDevice* device, const PropertyChain& properties) {
  vkGetPhysicalDeviceMemoryProperties(device->handle, &device->memory);
  for (uint32_t h = 0; h < device->memory.memoryHeapCount; ++h) {
    const VkMemoryHeap& heap = device->memory.memoryHeaps[h];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    if (heap.size <= device->facts.memory_bytes) continue;
    device->memory_heap = h;
    device->facts.memory_bytes = heap.size;
  }
  device->facts.allocation_bytes =
      std::min({properties.of_1_1.maxMemoryAllocationSize, properties.of_1_3.maxBufferSize,
                device->facts.memory_bytes});
}

void choose_extensions(PhysicalDevice* device, const std::vector<std::string>& names,
                       const PropertyChain& properties) {
  const auto has = [&names](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    device->extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    device->facts.import_alignment = properties.host.minImportedHostPointerAlignment;
  } else {
    device->facts.lacks.push_back(
        {"import of the host's memory", "weights go through pinned memory, copied once more"});
  }
  device->reports_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (device->reports_budget) {
    device->extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  } else {
    device->facts.lacks.push_back({"a memory budget", "how much is free is not known"});
  }
}

FloatModes float_modes_of(const VkPhysicalDeviceVulkan12Properties& properties) {
  const bool denorms =
      properties.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  const bool rounding =
      properties.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  return {.keep_subnormals = denorms && properties.shaderDenormPreserveFloat32 == VK_TRUE,
          .round_to_even = rounding && properties.shaderRoundingModeRTEFloat32 == VK_TRUE,
          .keep_special = properties.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE};
}

// Fills in the facts that need Vulkan 1.3.
void describe_rest(PhysicalDevice* device, const PropertyChain& properties) {
  device->facts.driver =
      fmt::format("{} {}", properties.of_1_2.driverName, properties.of_1_2.driverInfo);
  choose_queues(device);
  if (device->refused.empty()) choose_features(device);
  choose_memory(device, properties);
  choose_extensions(device, extension_names(device->handle), properties);
  if (properties.of_1_3.integerDotProduct4x8BitPackedSignedAccelerated != VK_TRUE) {
    device->facts.lacks.push_back(
        {"accelerated dot products of bytes", "products of quantized weights are slow"});
  }
  const VkPhysicalDeviceLimits& limits = properties.core.properties.limits;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, device->max_groups.begin());
  if (device->refused.empty() && (limits.maxComputeWorkGroupInvocations < kGroupInvocations ||
                                  limits.maxComputeSharedMemorySize < kGroupSharedBytes)) {
    device->refused = fmt::format(
        "its work groups have {} invocations and {} bytes of shared memory, and the shaders need "
        "{} and {}; use another",
        limits.maxComputeWorkGroupInvocations, limits.maxComputeSharedMemorySize, kGroupInvocations,
        kGroupSharedBytes);
  }
  device->float_modes = float_modes_of(properties.of_1_2);
  device->facts.free_bytes = free_bytes_of(*device);
}

}  // namespace

VkPhysicalDeviceFeatures2* FeatureChain::link() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  core.pNext = &of_1_1;
  of_1_1.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  of_1_1.pNext = &of_1_2;
  of_1_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  of_1_2.pNext = &of_1_3;
  of_1_3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  of_1_3.pNext = nullptr;
  return &core;
}

PhysicalDevice describe_physical(VkPhysicalDevice handle) {
  PhysicalDevice device;
  device.handle = handle;
  VkPhysicalDeviceProperties basic = {};
  vkGetPhysicalDeviceProperties(handle, &basic);
  device.facts.name = basic.deviceName;
  device.facts.api = "Vulkan " + vulkan_version(basic.apiVersion);
  device.facts.kind = kind_of(basic.deviceType);
  if (basic.apiVersion < VK_API_VERSION_1_3) {
    device.refused =
        fmt::format("its driver has {}; install one with Vulkan 1.3", device.facts.api);
    return device;
  }
  PropertyChain properties;
  properties.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.core.pNext = &properties.of_1_1;
  properties.of_1_1.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  properties.of_1_1.pNext = &properties.of_1_2;
  properties.of_1_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  properties.of_1_2.pNext = &properties.of_1_3;
  properties.of_1_3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  properties.of_1_3.pNext = &properties.host;
  properties.host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
  vkGetPhysicalDeviceProperties2(handle, &properties.core);
  describe_rest(&device, properties);
  return device;
}

uint64_t free_bytes_of(const PhysicalDevice& device, uint32_t heap) {
  if (!device.reports_budget) return 0;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory = {};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(device.handle, &memory);
  const uint64_t used = budget.heapUsage[heap];
  // Returns 1 where nothing is free, since 0 means that the driver does not tell.
  return budget.heapBudget[heap] > used ? budget.heapBudget[heap] - used : 1;
}

}  // namespace hearth
