#include "kernels/limits/limits.h"

#include "base/check.h"

namespace hearth {

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kF32Fma:
      return "f32 fma";
    case Unit::kBf16Dot:
      return "bf16 dot";
    case Unit::kInt8Dot:
      return "int8 dot";
    case Unit::kInt16Dot:
      return "int16 dot";
  }
  HEARTH_CHECK(false, "not a Unit");
}

UnitSet units_of(const LimitLoops& loops) {
  UnitSet units;
  for (size_t u = 0; u < kUnits; ++u) units[u] = loops.unit[u](1) > 0;
  return units;
}

Unit unit_for(ActFormat format, const UnitSet& units) {
  Unit unit = format == ActFormat::kQ8     ? Unit::kInt8Dot
              : format == ActFormat::kBF16 ? Unit::kBf16Dot
                                           : Unit::kF32Fma;
  return units[static_cast<size_t>(unit)] ? unit : Unit::kF32Fma;
}

}  // namespace hearth
