#include "tensor/pack_spec.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/pack_panel.h"

namespace hearth {
namespace {

#define HEARTH_ROW(kind, name, more) &kind_##name,
constexpr const PackKindInfo* kKindRows[] = {HEARTH_PACK_KINDS(HEARTH_ROW, )};
#undef HEARTH_ROW

constexpr size_t kAlignment = 64;

// Returns the bytes of one panel's scales, before alignment.
size_t scale_bytes(const PackSpec& spec) {
  const PackKindInfo& kind = pack_kind_info(spec.kind);
  const size_t super = kind.grouped ? group_bytes(kind, spec.form) : kind.super_bytes;
  return kind.head_bytes + spec.blocks() * kind.scale_bytes + spec.supers() * super;
}

}  // namespace

size_t form_bytes(ScaleForm form) {
  switch (form) {
    case ScaleForm::kNone:
      return 0;
    case ScaleForm::kF16:
    case ScaleForm::kBF16:
      return 2;
    case ScaleForm::kF32:
      return 4;
    case ScaleForm::kE8M0:
    case ScaleForm::kE4M3:
    case ScaleForm::kInteger:
      return 1;
  }
  return 0;
}

size_t group_bytes(const PackKindInfo& kind, const PackForm& form) {
  return kPanelRows * (form_bytes(form.scale) + (kind.minima ? form_bytes(form.min) : 0));
}

const PackKindInfo& pack_kind_info(PackKind kind) { return *kKindRows[static_cast<size_t>(kind)]; }

std::string_view PackedType::name() const {
  return kind == pack_kind_for(dtype) ? dtype_info(dtype).name : pack_kind_name(kind);
}

size_t PackedType::source_row_bytes(size_t elements) const {
  if (code_bits != 0) return (elements * code_bits + 7) / 8;
  return row_bytes(dtype, elements);
}

size_t PackSpec::codes_panel_bytes() const { return blocks() * pack_kind_info(kind).code_bytes; }

size_t PackSpec::scales_panel_bytes() const {
  return (scale_bytes(*this) + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {

void pack_source(const PackSpec& spec, const PanelSource& source, uint32_t panel, std::byte* codes,
                 std::byte* scales) {
  HEARTH_CHECK(spec.k_origin % kBlock == 0, "K is cut at multiples of 32");
  HEARTH_CHECK(panel < spec.panels(), "the panel is the shard's");
  std::byte* panel_scales = scales + spec.scales_panel_bytes() * panel;
  std::fill(panel_scales + scale_bytes(spec), panel_scales + spec.scales_panel_bytes(),
            std::byte{0});
  pack_kind_info(spec.kind).pack(spec, source, codes + spec.codes_panel_bytes() * panel,
                                 panel_scales);
}

}  // namespace

void pack_panel(const PackSpec& spec, DType dtype, const PanelRows& rows, uint32_t panel,
                std::byte* codes, std::byte* scales, float scale) {
  const PackKindInfo& kind = pack_kind_info(spec.kind);
  HEARTH_CHECK(pack_kind_for(dtype) == spec.kind && kind.pack != nullptr,
               "the kind is the one of the type, which holds its own scales");
  const bool plain = dtype_info(dtype).block_elements == 1;
  HEARTH_CHECK(plain || spec.k % kBlock == 0, "a quantised row holds whole blocks");
  pack_source(spec, {dtype, rows, scale}, panel, codes, scales);
}

void pack_panel(const PackSpec& spec, const BlockReader& reader, uint32_t rows, uint32_t panel,
                std::byte* codes, std::byte* scales) {
  const PackKindInfo& kind = pack_kind_info(spec.kind);
  HEARTH_CHECK(kind.unpack_codes != nullptr && spec.k % kBlock == 0, "rows are blocks of codes");
  PanelSource source = {.dtype = DType::kF32, .reader = &reader, .read_rows = rows};
  pack_source(spec, source, panel, codes, scales);
}

void pack_panels(const PackSpec& spec, DType dtype, const std::byte* source, size_t row_stride,
                 uint32_t panel0, uint32_t panels, std::byte* codes, std::byte* scales,
                 float scale) {
  HEARTH_CHECK(panel0 + panels <= spec.panels(), "the panels are the shard's");
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    PanelRows rows = {};
    const uint32_t row0 = panel * kPanelRows;
    for (uint32_t r = 0; r < std::min(kPanelRows, spec.rows - row0); ++r) {
      rows[r] = source + row_stride * (row0 + r);
    }
    pack_panel(spec, dtype, rows, panel, codes, scales, scale);
  }
}

}  // namespace hearth
