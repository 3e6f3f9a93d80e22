// Compiles every shader by every driver that Vulkan shows, and executes none. The shaders'
// constants are those that calls of all contracts give. RADV can compile for GPUs that are not
// installed.
//
//   RADV_FORCE_FAMILY=navi21 VK_DRIVER_FILES=.../radeon_icd.x86_64.json shader_compile
//
// Prints a line for each pipeline: the contract, the shader and its constants; vector registers,
// spilled registers (scalar ones too), bytes of scratch memory and instructions; for products of
// integers, whether the assembly has v_dot4. A last line sums up. Exit status 1 where there is no
// driver, or where a pipeline is refused, spills or uses scratch memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "accelerator/call_problems.h"
#include "accelerator/vulkan/dispatch.h"
#include "accelerator/vulkan/loader.h"
#include "accelerator/vulkan/physical.h"
#include "accelerator/vulkan/shader_modules.h"
#include "base/error.h"

namespace hearth {
namespace {

struct WantedPipeline {
  std::string contract;
  bool integers = false;  // a product of integers
};
using PipelineKey = std::pair<std::string, std::vector<uint32_t>>;  // shader, constants
using WantedPipelines = std::map<PipelineKey, WantedPipeline>;

void add_pipelines(const KernelCall& call, WantedPipelines* wanted) {
  const auto* gemm = std::get_if<GemmCall>(&call);
  const auto* of_experts = std::get_if<ExpertGemmCall>(&call);
  const WantedPipeline of_call = {
      contract_name(call), (gemm != nullptr && gemm->a.format == ActFormat::kQ8) ||
                               (of_experts != nullptr && of_experts->a.format == ActFormat::kQ8)};
  const AddressOf address = [](const Place& place) { return place ? 4096 + place.offset : 0; };
  for (const Dispatch& dispatch : dispatches_of(call, address)) {
    wanted->try_emplace({std::string(dispatch.shader), dispatch.constants}, of_call);
  }
}

// Numbers of rows that use different shaders: one, few, some and many. A product has variants with
// K cut and whole. A product of experts has variants with rows gathered and rows that follow one
// another.
constexpr uint32_t kRows[] = {1, 4, 16, 64};

void add_all_rows(GemmCall call, WantedPipelines* wanted) {
  for (const uint32_t rows : kRows) {
    call.m = rows;
    call.cuts = {call.block0 + 1};
    add_pipelines(call, wanted);
    call.cuts.clear();
    add_pipelines(call, wanted);
  }
}

void add_all_rows(ExpertGemmCall call, WantedPipelines* wanted) {
  for (const uint32_t rows : kRows) {
    call.likely_rows = rows;
    for (const Place& row : {call.first, Place{}}) {
      call.row = row;
      add_pipelines(call, wanted);
    }
  }
}

WantedPipelines all_pipelines() {
  // The shaders that probe the arithmetic have no constants.
  WantedPipelines wanted = {{{"probe_basic", {}}, {"probe"}}, {{"probe_fused", {}}, {"probe"}}};
  std::mt19937 random(1);
  for (const Contract& contract : all_contracts(false)) {
    for (const auto& make : contract.problems) {
      const KernelCall call = make(0, random).call;
      add_pipelines(call, &wanted);
      if (const auto* gemm = std::get_if<GemmCall>(&call)) add_all_rows(*gemm, &wanted);
      if (const auto* gemm = std::get_if<ExpertGemmCall>(&call)) add_all_rows(*gemm, &wanted);
    }
  }
  return wanted;
}

struct CompiledPipeline {
  uint64_t registers = 0, spilled = 0, scratch_bytes = 0, instructions = 0;
  bool dot4 = false;
};

// Makes pipelines on a device and asks the driver about them.
class ShaderCompiler {
 public:
  explicit ShaderCompiler(VkPhysicalDevice handle) : physical_(describe_physical(handle)) {
    const std::string& refused = physical_.refused;
    if (!refused.empty()) fail(ErrorCode::kUnsupported, "{}: {}", name(), refused);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR properties = {};
    properties.sType =
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    properties.pNext = physical_.features.link();
    properties.pipelineExecutableInfo = VK_TRUE;
    const char* extension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = physical_.queues[0].family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &properties;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
    check(vkCreateDevice(handle, &info, nullptr, &device_));
    volkLoadDeviceTable(&calls_, device_);
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Dispatch::push)};
    VkPipelineLayoutCreateInfo layout = {};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(calls_.vkCreatePipelineLayout(device_, &layout, nullptr, &layout_));
  }
  ShaderCompiler(const ShaderCompiler&) = delete;
  ShaderCompiler& operator=(const ShaderCompiler&) = delete;
  ~ShaderCompiler() {
    if (device_ == VK_NULL_HANDLE) return;
    calls_.vkDestroyPipelineLayout(device_, layout_, nullptr);
    calls_.vkDestroyDevice(device_, nullptr);
  }

  std::string name() const {
    return fmt::format("{}, {}", physical_.facts.name, physical_.facts.driver);
  }

  CompiledPipeline compile(const PipelineKey& key) {
    const std::vector<uint32_t> words =
        with_float_modes(shader_module(key.first, true), physical_.float_modes);
    VkShaderModuleCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = words.size() * sizeof(uint32_t);
    info.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    check(calls_.vkCreateShaderModule(device_, &info, nullptr, &module));
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result = make_pipeline(module, key.second, &pipeline);
    calls_.vkDestroyShaderModule(device_, module, nullptr);
    check(result);
    const CompiledPipeline compiled = ask(pipeline);
    calls_.vkDestroyPipeline(device_, pipeline, nullptr);
    return compiled;
  }

 private:
  void check(VkResult result) const {
    if (result < 0) fail(ErrorCode::kUnsupported, "{}: {}", name(), vulkan_text(result));
  }

  VkResult make_pipeline(VkShaderModule module, const std::vector<uint32_t>& values,
                         VkPipeline* pipeline) const {
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t i = 0; i < values.size(); ++i) entries.push_back({i, 4 * i, 4});
    const VkSpecializationInfo constants = {static_cast<uint32_t>(entries.size()), entries.data(),
                                            4 * values.size(), values.data()};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                 VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &constants;
    info.layout = layout_;
    info.basePipelineIndex = -1;
    return calls_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, pipeline);
  }

  CompiledPipeline ask(VkPipeline pipeline) const {
    CompiledPipeline compiled;
    VkPipelineExecutableInfoKHR info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    info.pipeline = pipeline;
    uint32_t count = 0;
    check(calls_.vkGetPipelineExecutableStatisticsKHR(device_, &info, &count, nullptr));
    VkPipelineExecutableStatisticKHR empty = {};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    std::vector<VkPipelineExecutableStatisticKHR> statistics(count, empty);
    check(calls_.vkGetPipelineExecutableStatisticsKHR(device_, &info, &count, statistics.data()));
    for (const VkPipelineExecutableStatisticKHR& one : statistics) {
      const std::string_view statistic = one.name;
      if (statistic == "VGPRs") compiled.registers = one.value.u64;
      if (statistic.starts_with("Spilled")) compiled.spilled += one.value.u64;
      if (statistic.starts_with("Scratch")) compiled.scratch_bytes = one.value.u64;
      if (statistic.starts_with("Instruction")) compiled.instructions = one.value.u64;
    }
    compiled.dot4 = assembly_of(info).find("v_dot4") != std::string::npos;
    return compiled;
  }

  std::string assembly_of(const VkPipelineExecutableInfoKHR& pipeline) const {
    const auto get = calls_.vkGetPipelineExecutableInternalRepresentationsKHR;
    uint32_t count = 0;
    check(get(device_, &pipeline, &count, nullptr));
    VkPipelineExecutableInternalRepresentationKHR empty = {};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    std::vector<VkPipelineExecutableInternalRepresentationKHR> forms(count, empty);
    check(get(device_, &pipeline, &count, forms.data()));
    std::vector<std::string> texts(count);
    for (size_t i = 0; i < count; ++i) {
      texts[i].resize(forms[i].dataSize);
      forms[i].pData = texts[i].data();
    }
    check(get(device_, &pipeline, &count, forms.data()));
    for (size_t i = 0; i < count; ++i) {
      if (std::string_view(forms[i].name).ends_with("ssembly")) return texts[i];
    }
    return "";
  }

  PhysicalDevice physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable calls_ = {};
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

// Returns whether every pipeline was compiled without a complaint.
bool compile_all(ShaderCompiler& compiler, const WantedPipelines& wanted) {
  size_t bad = 0, integers = 0, dots = 0;
  uint64_t max_registers = 0;
  for (const auto& [key, use] : wanted) {
    const std::string head =
        fmt::format("{} ({} {})", use.contract, key.first, fmt::join(key.second, ","));
    try {
      const CompiledPipeline one = compiler.compile(key);
      const char* dot4 = !use.integers ? "" : one.dot4 ? ", v_dot4" : ", no v_dot4";
      fmt::print("{}: {} VGPRs, {} spilled, {} bytes of scratch, {} instructions{}\n", head,
                 one.registers, one.spilled, one.scratch_bytes, one.instructions, dot4);
      if (one.spilled + one.scratch_bytes > 0) ++bad;
      max_registers = std::max(max_registers, one.registers);
      integers += use.integers;
      dots += use.integers && one.dot4;
    } catch (const Error& error) {
      ++bad;
      fmt::print("{}: REFUSED: {}\n", head, error.what());
    }
  }
  fmt::print("{}: {} pipelines, {} refused or spilling, at most {} VGPRs, v_dot4 in {} of {}\n",
             compiler.name(), wanted.size(), bad, max_registers, dots, integers);
  return bad == 0;
}

int run() {
  std::string why_none;
  const auto instance = VulkanInstance::open(&why_none);
  if (instance == nullptr) fail(ErrorCode::kUnsupported, "{}", why_none);
  const std::vector<VkPhysicalDevice> devices = instance->devices();
  if (devices.empty()) fail(ErrorCode::kUnsupported, "Vulkan's drivers show no device");
  const WantedPipelines wanted = all_pipelines();
  bool good = true;
  for (VkPhysicalDevice device : devices) {
    ShaderCompiler compiler(device);
    good = compile_all(compiler, wanted) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hearth

int main() {
  try {
    return hearth::run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "shader_compile: {}\n", error.what());
    return 1;
  }
}
