#include "kernels/gemm/gemm_problem.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace hearth {
namespace {

constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kPadding = 4096;

float scale_value(Fill fill, std::mt19937& random) {
  std::uniform_real_distribution<float> around(-1.0f / 16, 1.0f / 16);
  if (fill == Fill::kRandom) return around(random);
  // The first number is denormal in f16, and the last two are near the greatest number of f16.
  static constexpr float kEnds[] = {0x1p-23f, -0x1p-15f, 0.0f, 1.0f, -0.5f, 60000.0f, -65504.0f};
  return kEnds[random() % std::size(kEnds)];
}

void fill_random_bytes(std::byte* out, size_t bytes, std::mt19937& random) {
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(random());
}

template <typename T, typename Make>
void fill_values(std::byte* out, size_t bytes, Make make) {
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T value = make();
    std::memcpy(out + i, &value, sizeof value);
  }
}

void fill_codes(const Problem& p, Fill fill, std::mt19937& random) {
  std::byte* out = p.codes.data();
  size_t bytes = p.spec.codes_bytes();
  auto value = [&] { return scale_value(fill, random) * 8; };
  if (fill == Fill::kZero) {
    std::memset(out, 0, bytes);
  } else if (p.kind == PackKind::kF32) {
    fill_values<float>(out, bytes, value);
  } else if (p.kind == PackKind::kF16) {
    fill_values<f16_t>(out, bytes, [&] { return f32_to_f16(value() / 8); });
  } else if (p.kind == PackKind::kBF16) {
    fill_values<bf16_t>(out, bytes, [&] { return f32_to_bf16(value()); });
  } else if (is_fp8(p.kind)) {
    // NaN is not among these codes; other tests have it.
    static constexpr e4m3_t kEnds[] = {0x00, 0x80, 0x01, 0x87, 0x08, 0x88, 0x7e, 0xfe};
    fill_random_bytes(out, bytes, random);
    for (size_t i = 0; i < bytes; ++i) {
      auto code = std::to_integer<e4m3_t>(out[i]);
      if (fill == Fill::kExtreme) code = kEnds[code % std::size(kEnds)];
      if ((code & 0x7f) == 0x7f) code = 0x3f;
      out[i] = std::byte{code};
    }
  } else if (fill == Fill::kExtreme) {
    static constexpr uint8_t kEnds[] = {0, 0xff, 0x0f, 0xf0, 0x80, 0x7f};
    fill_values<uint8_t>(out, bytes, [&] { return kEnds[random() % std::size(kEnds)]; });
  } else {
    fill_random_bytes(out, bytes, random);
  }
}

// Fills scales of one form. If `super`, they belong to super-blocks and multiply other scales, so
// they are made smaller.
void fill_form(ScaleForm form, std::byte* out, size_t bytes, Fill fill, bool super,
               std::mt19937& random) {
  auto value = [&] { return scale_value(fill, random) / (super ? 64.0f : 1.0f); };
  switch (form) {
    case ScaleForm::kNone:
      return;
    case ScaleForm::kF16:
      return fill_values<f16_t>(out, bytes, [&] { return f32_to_f16(value()); });
    case ScaleForm::kF32:
      return fill_values<float>(out, bytes, value);
    case ScaleForm::kBF16:
      return fill_values<bf16_t>(out, bytes, [&] { return f32_to_bf16(value()); });
    case ScaleForm::kE8M0:
      return fill_values<uint8_t>(out, bytes, [&] {
        static constexpr uint8_t kEnds[] = {0, 1, 126, 127, 140};
        return static_cast<uint8_t>(fill == Fill::kExtreme ? kEnds[random() % std::size(kEnds)]
                                                           : 127 - random() % 8);
      });
    case ScaleForm::kE4M3:  // neither NaN nor a sign
      return fill_values<uint8_t>(out, bytes,
                                  [&] { return static_cast<uint8_t>(random() % 0x7f); });
    case ScaleForm::kInteger:
      return fill_random_bytes(out, bytes, random);
  }
}

void fill_groups(const Problem& p, std::byte* out, Fill fill, std::mt19937& random) {
  const PackKindInfo& info = pack_kind_info(p.kind);
  PackForm no_min = p.spec.form;
  no_min.min = ScaleForm::kNone;
  const size_t bytes = group_bytes(info, p.spec.form), scales = group_bytes(info, no_min);
  for (uint32_t group = 0; group < p.spec.supers(); ++group, out += bytes) {
    fill_form(p.spec.form.scale, out, scales, fill, false, random);
    fill_form(p.spec.form.min, out + scales, bytes - scales, fill, false, random);
  }
}

void fill_scales(const Problem& p, Fill fill, std::mt19937& random) {
  std::byte* out = p.scales.data();
  if (fill == Fill::kZero) {
    std::memset(out, 0, p.spec.scales_bytes());
    return;
  }
  if (p.kind == PackKind::kFP8) {
    fill_values<Fp8Scale>(out, p.spec.scales_bytes(), [&] {
      return Fp8Scale{scale_value(fill, random), 0};
    });
    return;
  }
  const PackKindInfo& info = pack_kind_info(p.kind);
  const size_t supers = info.head_bytes + info.super_bytes * p.spec.supers();
  for (uint32_t panel = 0; panel < p.spec.panels(); ++panel) {
    std::byte* of_panel = out + p.spec.scales_panel_bytes() * panel;
    if (info.grouped) {
      fill_groups(p, of_panel, fill, random);
      continue;
    }
    fill_form(ScaleForm::kF32, of_panel, info.head_bytes, fill, true, random);
    fill_form(info.super_scale, of_panel + info.head_bytes, supers - info.head_bytes, fill, true,
              random);
    fill_form(info.block_scale, of_panel + supers, p.spec.scales_panel_bytes() - supers, fill,
              false, random);
  }
}

void fill_q8_row(const ActBuffer& a, size_t row, Fill fill, std::mt19937& random) {
  std::uniform_int_distribution<int> code(-127, 127);
  std::uniform_real_distribution<float> around(0.0f, 1.0f / 32);
  for (size_t b = row * a.row_stride / kBlock; b < (row + 1) * a.row_stride / kBlock; ++b) {
    int32_t sums[2] = {0, 0};
    for (size_t j = 0; j < kBlock; ++j) {
      int c = code(random);
      if (fill == Fill::kExtreme) c = c < -30 ? -127 : c > 30 ? 127 : 0;
      if (fill == Fill::kZero) c = 0;
      a.codes[b * kBlock + j] = static_cast<int8_t>(c);
      sums[j / 16] += c;
    }
    float scale = fill == Fill::kZero ? 0 : around(random);
    a.scale[b] = scale;
    a.bias32[b] = -128 * (sums[0] + sums[1]);
    a.sum32[b] = scale * static_cast<float>(sums[0] + sums[1]);
    for (size_t h = 0; h < 2; ++h) {
      a.bias16[2 * b + h] = -128 * sums[h];
      a.sum16[2 * b + h] = scale * static_cast<float>(sums[h]);
    }
  }
}

void fill_activations(const ActBuffer& a, ActFormat format, uint32_t m, Fill fill,
                      std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (size_t row = 0; row < m; ++row) {
    if (format == ActFormat::kQ8) {
      fill_q8_row(a, row, fill, random);
      continue;
    }
    for (size_t k = row * a.row_stride; k < (row + 1) * a.row_stride; ++k) {
      float x = fill == Fill::kZero ? 0 : normal(random);
      if (format == ActFormat::kF32) a.f32[k] = x;
      if (format == ActFormat::kBF16) a.bf16[k] = f32_to_bf16(x);
    }
  }
}

}  // namespace

PaddedBytes::PaddedBytes(size_t bytes) : size_(bytes) {
  size_t alignment = bytes >= kHuge ? kHuge : 64;
  size_t padded = (bytes + kPadding + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, padded);
  if (p == nullptr) throw std::bad_alloc();
  if (bytes >= kHuge) madvise(p, padded, MADV_HUGEPAGE);
  data_.reset(static_cast<std::byte*>(p));
}

void PaddedBytes::Free::operator()(std::byte* p) const { std::free(p); }

std::vector<PackForm> forms_of(PackKind kind) {
  std::vector<PackForm> forms;
  for (DType dtype : all_dtypes()) {
    if (pack_kind_for(dtype) == kind) forms.push_back(pack_form_for(dtype));
  }
  if (forms.empty()) forms.push_back({});
  if (!pack_kind_info(kind).grouped) return forms;
  PackForm form = forms.front();
  form.min = ScaleForm::kInteger;
  static constexpr std::pair<ScaleForm, uint32_t> kGroups[] = {
      {ScaleForm::kF16, 2}, {ScaleForm::kBF16, 8}, {ScaleForm::kF32, 1u << 20}};
  for (const auto& [scale, blocks] : kGroups) {
    form.scale = scale;
    form.group_blocks = blocks;
    forms.push_back(form);
  }
  return forms;
}

Problem make_problem(PackKind kind, uint32_t panels, uint32_t blocks, uint32_t super_offset,
                     uint32_t m, Fill fill, uint32_t seed) {
  return make_problem(kind, forms_of(kind).front(), panels, blocks, super_offset, m, fill, seed);
}

Problem make_problem(PackKind kind, const PackForm& form, uint32_t panels, uint32_t blocks,
                     uint32_t super_offset, uint32_t m, Fill fill, uint32_t seed) {
  std::mt19937 random(seed);
  PackSpec spec = {.kind = kind,
                   .rows = panels * kPanelRows,
                   .k = blocks * kBlock,
                   .k_origin = super_offset * kBlock,
                   .form = form};
  ActFormat format = act_format_for(kind);
  Problem p = {.kind = kind,
               .spec = spec,
               .codes = PaddedBytes(spec.codes_bytes()),
               .scales = PaddedBytes(spec.scales_bytes()),
               .m = m,
               .act_bytes = PaddedBytes(act_bytes(format, m, spec.k)),
               .a = {}};
  ActBuffer a = act_buffer(format, p.act_bytes.data(), m, spec.k);
  fill_codes(p, fill, random);
  fill_scales(p, fill, random);
  fill_activations(a, format, m, fill, random);
  p.a = act_view(a);
  return p;
}

}  // namespace hearth
