// The compute pipelines of shaders, each made when it is first needed and kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "accelerator/vulkan/device.h"
#include "accelerator/vulkan/dispatch.h"

namespace hearth {

class Pipelines {
 public:
  explicit Pipelines(VulkanDevice& device);

  // Returns the pipeline for the dispatch. `fused`: whether the driver's fma() is fused, and so the
  // shader's module may use it. The other module computes fma() in binary64 (shaders/exact.glsl).
  VkPipeline of(const Dispatch& dispatch, bool fused);

  // Records the dispatch, which check_groups() must have accepted.
  void record(VkCommandBuffer commands, const Dispatch& dispatch, VkPipeline pipeline) const;

 private:
  using Key = std::tuple<std::string, std::vector<uint32_t>, bool>;

  OwnedPipeline make(const Dispatch& dispatch, bool fused);

  VulkanDevice& device_;
  OwnedLayout layout_;
  std::map<Key, OwnedPipeline> made_;
};

// Throws kUnsupported where the dispatch has more workgroups than the device allows.
void check_groups(const VulkanDevice& device, const Dispatch& dispatch);

}  // namespace hearth
