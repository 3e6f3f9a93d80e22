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

  // `fused`: the shader's module for a driver whose fma() is fused; else the one that computes it
  // in binary64 (shaders/exact.glsl).
  VkPipeline of(const Dispatch& dispatch, bool fused);

  // Records the dispatch, which check_groups() lets pass.
  void record(VkCommandBuffer commands, const Dispatch& dispatch, VkPipeline pipeline) const;

 private:
  using Key = std::tuple<std::string, std::vector<uint32_t>, bool>;

  OwnedPipeline make(const Dispatch& dispatch, bool fused);

  VulkanDevice& device_;
  OwnedLayout layout_;
  std::map<Key, OwnedPipeline> made_;
};

// Throws kUnsupported where the dispatch has more groups than the device takes.
void check_groups(const VulkanDevice& device, const Dispatch& dispatch);

}  // namespace hearth
