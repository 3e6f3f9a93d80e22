#include "accelerator/vulkan/shader_pack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace hearth {
namespace {

// The enums have the values that shaders/gemm_kind.glsl gives to the same names.
enum class WeightsForm : uint32_t { kInt8, kF32, kF16, kBF16, kFP8, kFP8R };
enum class ScalesForm : uint32_t { kGroups, kSupers, kShifted, kPairs, kNibbles, kLaneE4M3 };
enum class MinForm : uint32_t { kF16, kZeroPoint, kSignedZeroPoint };
static_assert(static_cast<int>(ScaleForm::kF16) == 1 && static_cast<int>(ScaleForm::kBF16) == 2 &&
              static_cast<int>(ScaleForm::kF32) == 3 && static_cast<int>(ScaleForm::kE8M0) == 4);

// How many bits a code has, and which number it stands for: step * code - offset, or an entry of
// the form's table.
struct CodesForm {
  uint32_t low_bits = 0, high_bits = 0, step = 0, offset = 0;
};

struct ShaderKind {
  PackKind kind;
  WeightsForm weights;
  CodesForm codes = {};
  ScalesForm scales = ScalesForm::kGroups;
};

constexpr ShaderKind kShaderKinds[] = {
    {PackKind::kF32, WeightsForm::kF32},
    {PackKind::kF16, WeightsForm::kF16},
    {PackKind::kBF16, WeightsForm::kBF16},
    {PackKind::kQ8_0, WeightsForm::kInt8, {8, 0, 1, 128}, ScalesForm::kGroups},
    {PackKind::kQ4_0, WeightsForm::kInt8, {4, 0, 1, 8}, ScalesForm::kGroups},
    {PackKind::kQ4_K, WeightsForm::kInt8, {4, 0, 1, 0}, ScalesForm::kPairs},
    {PackKind::kQ5_K, WeightsForm::kInt8, {4, 1, 1, 0}, ScalesForm::kPairs},
    {PackKind::kQ6_K, WeightsForm::kInt8, {4, 2, 1, 32}, ScalesForm::kSupers},
    {PackKind::kQ2_K, WeightsForm::kInt8, {2, 0, 1, 0}, ScalesForm::kNibbles},
    {PackKind::kIQ1_S, WeightsForm::kInt8, {2, 0, 1, 1}, ScalesForm::kShifted},
    {PackKind::kL4, WeightsForm::kInt8, {4, 0, 0, 0}, ScalesForm::kGroups},
    {PackKind::kL4M, WeightsForm::kInt8, {4, 0, 1, 0}, ScalesForm::kGroups},
    {PackKind::kL4K, WeightsForm::kInt8, {4, 0, 0, 0}, ScalesForm::kSupers},
    {PackKind::kL4H, WeightsForm::kInt8, {4, 0, 0, 0}, ScalesForm::kLaneE4M3},
    {PackKind::kL5, WeightsForm::kInt8, {4, 1, 1, 16}, ScalesForm::kGroups},
    {PackKind::kL5M, WeightsForm::kInt8, {4, 1, 1, 0}, ScalesForm::kGroups},
    {PackKind::kL8, WeightsForm::kInt8, {8, 0, 1, 128}, ScalesForm::kGroups},
    {PackKind::kL8M, WeightsForm::kInt8, {8, 0, 1, 128}, ScalesForm::kGroups},
    {PackKind::kL3K, WeightsForm::kInt8, {2, 1, 0, 0}, ScalesForm::kSupers},
    {PackKind::kL3H, WeightsForm::kInt8, {2, 1, 0, 0}, ScalesForm::kSupers},
    {PackKind::kL2, WeightsForm::kInt8, {2, 0, 1, 1}, ScalesForm::kGroups},
    {PackKind::kL1, WeightsForm::kInt8, {1, 0, 2, 1}, ScalesForm::kGroups},
    {PackKind::kFP8, WeightsForm::kFP8},
    {PackKind::kFP8R, WeightsForm::kFP8R},
};
static_assert(std::size(kShaderKinds) == kPackKinds);

ShaderKind shader_kind(PackKind kind) {
  const auto* row = std::ranges::find(kShaderKinds, kind, &ShaderKind::kind);
  HEARTH_CHECK(row != std::end(kShaderKinds), "all kinds have a row");
  return *row;
}

MinForm min_form(const PackSpec& spec) {
  if (!pack_kind_info(spec.kind).grouped || spec.form.min == ScaleForm::kF16) return MinForm::kF16;
  return spec.kind == PackKind::kL8M ? MinForm::kSignedZeroPoint : MinForm::kZeroPoint;
}

// Whether each block has scales of its own. Shaders treat these as the scales of groups of one
// block.
bool scales_of_blocks(const ShaderKind& shader, const PackKindInfo& info) {
  return shader.weights == WeightsForm::kInt8 && shader.scales == ScalesForm::kGroups &&
         !info.grouped;
}

}  // namespace

ShaderPack shader_pack(const PackSpec& spec) {
  const PackKindInfo& info = pack_kind_info(spec.kind);
  const ShaderKind shader = shader_kind(spec.kind);
  const PackForm& form = spec.form;
  const CodesForm& codes = shader.codes;
  const bool of_blocks = scales_of_blocks(shader, info);
  std::array<uint32_t, 4> table = {};
  float factor = 1;
  if (form.table != nullptr) {
    std::memcpy(table.data(), form.table->values.data(), sizeof table);
    factor = form.table->factor;
  }
  const ScaleForm scale = info.grouped ? form.scale : ScaleForm::kF16;
  // The bytes of the scales of one super-block or one group.
  const size_t super_bytes = info.grouped ? group_bytes(info, form)
                             : of_blocks  ? info.scale_bytes
                                          : info.super_bytes;
  ShaderPack pack;
  pack.constants = {static_cast<uint32_t>(shader.weights),
                    static_cast<uint32_t>(info.code_bytes / sizeof(uint32_t)),
                    codes.low_bits,
                    codes.high_bits,
                    codes.step,
                    codes.offset,
                    table[0],
                    table[1],
                    table[2],
                    table[3],
                    static_cast<uint32_t>(shader.scales),
                    static_cast<uint32_t>(super_bytes),
                    static_cast<uint32_t>(info.scale_bytes),
                    std::bit_cast<uint32_t>(factor),
                    static_cast<uint32_t>(scale),
                    static_cast<uint32_t>(min_form(spec)),
                    info.minima ? 1u : 0u,
                    kBlock / info.scale_elements};
  pack.block_scales = static_cast<uint32_t>(info.head_bytes + info.super_bytes * spec.supers());
  if (of_blocks) return pack;
  pack.super_offset = spec.super_offset();
  pack.group_shift = static_cast<uint32_t>(std::countr_zero(spec.super_blocks()));
  return pack;
}

}  // namespace hearth
