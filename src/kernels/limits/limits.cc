#include "kernels/limits/limits.h"

#include "base/enum_name.h"

namespace hearth {

const char* arithmetic_unit_name(ArithmeticUnit unit) {
  return enum_name<ArithmeticUnit::kInt16Dot>({"f32 fma", "bf16 dot", "int8 dot", "int16 dot"},
                                              unit);
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
