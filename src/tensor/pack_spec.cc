#include "tensor/pack_spec.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "tensor/pack_panel.h"

namespace hearth {
namespace {

struct KindInfo {
  const char* name;
  size_t code_bytes;   // of one block of a panel
  size_t scale_bytes;  // of one block
  size_t super_bytes;  // of one super-block
};

constexpr KindInfo kKinds[kPackKinds] = {
    {"f32", 2048, 0, 0},
    {"f16", 1024, 0, 0},
    {"bf16", 1024, 0, 0},
    {"q8_0", 512, 32, 0},
    {"q4_0", 256, 32, 0},
    {"q4_k", 256, 32, 64},
    {"q5_k", 320, 32, 64},
    {"q6_k", 384, 32, 32},
    {"i8x32", 512, 128, 0},
    {"i8x16", 512, 256, 0},
    {"fp8", 512, 0, sizeof(Fp8Scale)},
};

const KindInfo& info(PackKind kind) { return kKinds[static_cast<size_t>(kind)]; }

constexpr size_t kAlignment = 64;

// Returns the bytes of one panel's scales, before alignment.
size_t scale_bytes(const PackSpec& spec) {
  const KindInfo& kind = info(spec.kind);
  return spec.blocks() * kind.scale_bytes + spec.supers() * kind.super_bytes;
}

}  // namespace

PackKind pack_kind_for(DType dtype) {
  // In the order of DType.
  constexpr PackKind kKindOf[] = {
      PackKind::kF32,   PackKind::kF16,   PackKind::kBF16,  PackKind::kQ4_0,
      PackKind::kI8x32, PackKind::kI8x32, PackKind::kI8x32, PackKind::kQ8_0,
      PackKind::kI8x16, PackKind::kI8x16, PackKind::kQ4_K,  PackKind::kQ5_K,
      PackKind::kQ6_K,  PackKind::kI8x32, PackKind::kI8x32, PackKind::kFP8};
  static_assert(std::size(kKindOf) == static_cast<size_t>(DType::kF8E4M3) + 1);
  return kKindOf[static_cast<size_t>(dtype)];
}

const char* pack_kind_name(PackKind kind) { return info(kind).name; }

size_t PackSpec::codes_panel_bytes() const { return blocks() * info(kind).code_bytes; }

size_t PackSpec::scales_panel_bytes() const {
  return (scale_bytes(*this) + kAlignment - 1) / kAlignment * kAlignment;
}

void pack_panel(const PackSpec& spec, DType dtype, const PanelRows& rows, uint32_t panel,
                std::byte* codes, std::byte* scales) {
  HEARTH_CHECK(pack_kind_for(dtype) == spec.kind && spec.kind != PackKind::kFP8,
               "the kind is the one of the type, which holds its own scales");
  HEARTH_CHECK(spec.k_origin % kBlock == 0, "K is cut at multiples of 32");
  HEARTH_CHECK(panel < spec.panels(), "the panel is the shard's");
  const bool plain = dtype_info(dtype).block_elements == 1;
  HEARTH_CHECK(plain || spec.k % kBlock == 0, "a quantised row holds whole blocks");

  const PanelSource source{dtype, rows};
  std::byte* panel_codes = codes + spec.codes_panel_bytes() * panel;
  std::byte* panel_scales = scales + spec.scales_panel_bytes() * panel;
  std::fill(panel_scales + scale_bytes(spec), panel_scales + spec.scales_panel_bytes(),
            std::byte{0});
  if (plain) {
    pack_plain(spec, source, panel_codes);
  } else if (spec.kind == PackKind::kI8x32 || spec.kind == PackKind::kI8x16) {
    pack_int8(spec, source, panel_codes, panel_scales);
  } else {
    pack_quantised(spec, source, panel_codes, panel_scales);
  }
}

void pack_panels(const PackSpec& spec, DType dtype, const std::byte* source, size_t row_stride,
                 uint32_t panel0, uint32_t panels, std::byte* codes, std::byte* scales) {
  HEARTH_CHECK(panel0 + panels <= spec.panels(), "the panels are the shard's");
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    PanelRows rows = {};
    const uint32_t row0 = panel * kPanelRows;
    for (uint32_t r = 0; r < std::min(kPanelRows, spec.rows - row0); ++r) {
      rows[r] = source + row_stride * (row0 + r);
    }
    pack_panel(spec, dtype, rows, panel, codes, scales);
  }
}

}  // namespace hearth
