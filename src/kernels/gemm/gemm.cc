#include "kernels/gemm/gemm.h"

namespace hearth {

WeightView weight_view(const PackSpec& spec, const std::byte* codes, const std::byte* scales) {
  return {.codes = codes,
          .scales = scales,
          .codes_panel_bytes = spec.codes_panel_bytes(),
          .scales_panel_bytes = spec.scales_panel_bytes(),
          .super_offset = spec.super_offset(),
          .supers = spec.supers(),
          .form = spec.form,
          .group_bytes = static_cast<uint32_t>(group_bytes(pack_kind_info(spec.kind), spec.form))};
}

double product_error_bound(uint64_t terms) {
  const double roundings = (static_cast<double>(terms) + 3) * 0x1p-24;
  return roundings / (1 - roundings);
}

ActFormat act_format_for(PackKind kind) {
  switch (kind) {
    case PackKind::kF32:
    case PackKind::kF16:
      return ActFormat::kF32;
    case PackKind::kBF16:
    case PackKind::kFP8:
    case PackKind::kFP8R:
      return ActFormat::kBF16;
    default:
      return ActFormat::kQ8;
  }
}

}  // namespace hearth
