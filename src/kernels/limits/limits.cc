#include "kernels/limits/limits.h"

#include "base/check.h"

namespace hearth {

const char* arithmetic_unit_name(ArithmeticUnit unit) {
  switch (unit) {
    case ArithmeticUnit::kF32Fma:
      return "f32 fma";
    case ArithmeticUnit::kBf16Dot:
      return "bf16 dot";
    case ArithmeticUnit::kInt8Dot:
      return "int8 dot";
    case ArithmeticUnit::kInt16Dot:
      return "int16 dot";
  }
  HEARTH_CHECK(false, "not a ArithmeticUnit");
}

ArithmeticUnitSet units_of(const LimitLoops& loops) {
  ArithmeticUnitSet units;
  for (size_t u = 0; u < kArithmeticUnits; ++u) units[u] = loops.unit[u](1) > 0;
  return units;
}

ArithmeticUnit arithmetic_unit_for(ActFormat format, const ArithmeticUnitSet& units) {
  ArithmeticUnit unit = format == ActFormat::kQ8     ? ArithmeticUnit::kInt8Dot
                        : format == ActFormat::kBF16 ? ArithmeticUnit::kBf16Dot
                                                     : ArithmeticUnit::kF32Fma;
  return units[static_cast<size_t>(unit)] ? unit : ArithmeticUnit::kF32Fma;
}

}  // namespace hearth
