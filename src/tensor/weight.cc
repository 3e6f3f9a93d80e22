#include "tensor/weight.h"

#include <algorithm>

#include "base/check.h"

namespace hearth {

Weight cut_weight(std::string name, PackedType type, uint32_t rows, uint32_t k, CutBy cut,
                  const AxisCuts& cuts, uint32_t unit) {
  uint32_t extent = cut == CutBy::kRows ? rows : k;
  HEARTH_CHECK(
      uint64_t{cuts.units()} * unit >= extent && uint64_t{cuts.units() - 1} * unit < extent,
      "the axis covers the weight");
  Weight weight{std::move(name), type, rows, k, cut, &cuts, unit, {}};
  for (uint32_t s = 0; s < cuts.shard_count(); ++s) {
    uint32_t begin = std::min(cuts.shard(s).begin * unit, extent);
    uint32_t end = std::min(cuts.shard(s).end * unit, extent);
    PackSpec spec = pack_spec_for(type, rows, k);
    Shard shard;
    if (cut == CutBy::kRows) {
      spec.rows = end - begin;
      shard.row0 = begin;
    } else {
      HEARTH_CHECK(begin % kBlock == 0 || begin == end, "K is cut at multiples of 32");
      spec.k = end - begin;
      spec.k_origin = begin == end ? 0 : begin;
    }
    shard.spec = spec;
    weight.shards.push_back(shard);
  }
  return weight;
}

Weight whole_weight(std::string name, PackedType type, uint32_t rows, uint32_t k,
                    const std::vector<bool>& holders) {
  Weight weight{std::move(name), type, rows, k, CutBy::kWhole, nullptr, 0, {}};
  for (bool holds : holders) {
    weight.shards.push_back({pack_spec_for(type, holds ? rows : 0, k), 0, nullptr, nullptr});
  }
  return weight;
}

void weight_row(const Weight& weight, uint32_t row, float* out) {
  HEARTH_CHECK(weight.cut == CutBy::kRows && row < weight.rows, "rows of row-cut weights only");
  for (const Shard& shard : weight.shards) {
    if (row < shard.row0 + shard.spec.rows) {
      unpack_row(shard.spec, shard.codes, shard.scales, row - shard.row0, out);
      return;
    }
  }
  HEARTH_CHECK(false, "the shards cover all rows");
}

}  // namespace hearth
