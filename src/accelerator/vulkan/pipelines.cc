#include "accelerator/vulkan/pipelines.h"

#include "accelerator/vulkan/shader_modules.h"
#include "base/check.h"
#include "base/error.h"

namespace hearth {

namespace {

constexpr uint32_t kPushBytes = sizeof(Dispatch::push);

std::string doing_text(const Dispatch& dispatch) {
  return fmt::format("making the pipeline of shader {}", dispatch.shader);
}

}  // namespace

Pipelines::Pipelines(VulkanDevice& device) : device_(device) {
  VkPushConstantRange range = {};
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = kPushBytes;
  VkPipelineLayoutCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  device.check(device.calls().vkCreatePipelineLayout(device.handle(), &info, nullptr, &layout),
               "making pipelines");
  layout_ = OwnedLayout(device, layout);
}

VkPipeline Pipelines::of(const Dispatch& dispatch, bool fused) {
  Key key(dispatch.shader, dispatch.constants, fused);
  auto found = made_.find(key);
  if (found == made_.end()) found = made_.emplace(std::move(key), make(dispatch, fused)).first;
  return found->second.get();
}

OwnedPipeline Pipelines::make(const Dispatch& dispatch, bool fused) {
  const std::vector<uint32_t> words =
      with_float_modes(shader_module(dispatch.shader, fused), device_.physical().float_modes);
  const VolkDeviceTable& calls = device_.calls();
  VkShaderModuleCreateInfo module_info = {};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size() * sizeof(uint32_t);
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  device_.check(calls.vkCreateShaderModule(device_.handle(), &module_info, nullptr, &module),
                doing_text(dispatch));
  const OwnedModule owned(device_, module);

  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < dispatch.constants.size(); ++i) {
    entries.push_back({i, static_cast<uint32_t>(i * sizeof(uint32_t)), sizeof(uint32_t)});
  }
  VkSpecializationInfo constants = {};
  constants.mapEntryCount = static_cast<uint32_t>(entries.size());
  constants.pMapEntries = entries.data();
  constants.dataSize = dispatch.constants.size() * sizeof(uint32_t);
  constants.pData = dispatch.constants.data();

  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_.get();
  info.basePipelineIndex = -1;
  VkPipeline pipeline = VK_NULL_HANDLE;
  device_.check(calls.vkCreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr,
                                               &pipeline),
                doing_text(dispatch));
  return {device_, pipeline};
}

void Pipelines::record(VkCommandBuffer commands, const Dispatch& dispatch,
                       VkPipeline pipeline) const {
  HEARTH_CHECK(dispatch.push_bytes % 4 == 0 && dispatch.push_bytes <= kPushBytes,
               "push constants are words, at most 32");
  const VolkDeviceTable& calls = device_.calls();
  calls.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  if (dispatch.push_bytes > 0) {
    calls.vkCmdPushConstants(commands, layout_.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             dispatch.push_bytes, dispatch.push.data());
  }
  calls.vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
}

void check_groups(const VulkanDevice& device, const Dispatch& dispatch) {
  for (size_t axis = 0; axis < dispatch.groups.size(); ++axis) {
    const uint32_t most = device.physical().max_groups[axis];
    if (dispatch.groups[axis] <= most) continue;
    fail(ErrorCode::kUnsupported,
         "shader {} would run {} groups along axis {}, and the accelerator {} runs {}; work on "
         "fewer rows at once",
         dispatch.shader, dispatch.groups[axis], axis, device.name(), most);
  }
}

}  // namespace hearth
