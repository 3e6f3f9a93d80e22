#include <algorithm>
#include <cstring>

#include "tensor/code_block.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {

void pack_int8(const PackSpec& spec, const PanelSource& source, std::byte* codes,
               std::byte* scales) {
  const DTypeInfo& info = dtype_info(source.dtype);
  const uint32_t parts = info.block_elements / kBlock;
  const uint32_t halves = spec.kind == PackKind::kI8x16 ? 2 : 1;
  const size_t scale_bytes = halves * kPanelRows * sizeof(float);

  CodeBlock zero = {};
  std::fill(std::begin(zero.codes), std::end(zero.codes), uint8_t{128});
  CodeBlock panel[kPanelRows];
  std::fill(std::begin(panel), std::end(panel), zero);

  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    const size_t block = spec.k_origin / kBlock + b;
    for (size_t r = 0; r < kPanelRows; ++r) {
      if (source.rows[r] == nullptr) continue;
      panel[r] = decode_block(source.dtype, source.rows[r] + block / parts * info.block_bytes,
                              static_cast<uint32_t>(block % parts));
    }
    transpose_words<8>(codes, [&](size_t r, size_t c) {
      return load_vector<U32x4>(reinterpret_cast<const std::byte*>(panel[r].codes) + 4 * c);
    });
    codes += kBlock * kPanelRows;
    for (size_t h = 0; h < halves; ++h) {
      for (size_t r = 0; r < kPanelRows; ++r) {
        std::byte* at = scales + (h * kPanelRows + r) * sizeof(float);
        std::memcpy(at, &panel[r].scale[h], sizeof(float));
        std::memcpy(at + scale_bytes, &panel[r].min[h], sizeof(float));
      }
    }
    scales += 2 * scale_bytes;
  }
}

}  // namespace hearth
