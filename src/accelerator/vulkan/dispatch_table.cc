// Dispatches that look up rows of embedding tables, by shaders/table.comp.
#include <algorithm>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "accelerator/vulkan/shader_pack.h"
#include "base/error.h"

namespace hearth {
namespace {

// The push constants; shaders/table.comp has the same block.
struct TablePush {
  uint64_t codes, scales, rows_of, out;
  uint32_t codes_panel, scales_panel;  // bytes from panel to panel
  uint32_t block_scales, super_offset, group_shift;
  uint32_t row0, table_rows, out_stride, k;
  float scale;
  uint32_t zero;
};

constexpr uint32_t kTableGroup = 256;  // elements of a workgroup: 64 invocations of 4
constexpr uint64_t kTableElements = uint64_t{1} << 26;  // the most of a dispatch

// Returns how many rows one dispatch takes at most.
uint32_t table_height(const TableCall& call) {
  const uint64_t k = call.spec.k, stride = std::max<uint64_t>(call.out.stride, 1);
  if (k > kTableElements || call.spec.codes_panel_bytes() > kMaxIndex ||
      call.spec.scales_panel_bytes() > kMaxIndex) {
    fail(ErrorCode::kUnsupported, "rows of {} elements are longer than shaders can index", k);
  }
  return static_cast<uint32_t>(
      std::min({kMaxGroups, kTableElements / k, (kMaxIndex - k) / stride + 1}));
}

}  // namespace

std::vector<Dispatch> dispatches_of(const TableCall& call, const AddressOf& address) {
  if (call.rows == 0 || call.spec.k == 0) return {};
  const ShaderPack pack = shader_pack(call.spec);
  const uint32_t height = table_height(call);
  std::vector<Dispatch> dispatches;
  for (uint32_t row = 0; row < call.rows; row += height) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "table", .constants = pack.constants});
    d.constants.push_back(call.keep ? 1 : 0);
    d.set_push(TablePush{.codes = address(call.codes),
                         .scales = address(call.scales),
                         .rows_of = address(call.rows_of) + sizeof(uint32_t) * row,
                         .out = address(call.out.at) + sizeof(float) * call.out.stride * row,
                         .codes_panel = static_cast<uint32_t>(call.spec.codes_panel_bytes()),
                         .scales_panel = static_cast<uint32_t>(call.spec.scales_panel_bytes()),
                         .block_scales = pack.block_scales,
                         .super_offset = pack.super_offset,
                         .group_shift = pack.group_shift,
                         .row0 = call.row0,
                         .table_rows = call.spec.rows,
                         .out_stride = static_cast<uint32_t>(call.out.stride),
                         .k = call.spec.k,
                         .scale = call.scale,
                         .zero = 0});
    d.groups = {(call.spec.k + kTableGroup - 1) / kTableGroup, std::min(height, call.rows - row),
                1};
  }
  return dispatches;
}

}  // namespace hearth
