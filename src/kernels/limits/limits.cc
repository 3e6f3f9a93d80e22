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
  }
  HEARTH_CHECK(false, "not a Unit");
}

Unit unit_for(ActFormat format, const LimitLoops& loops) {
  Unit unit = format == ActFormat::kQ8     ? Unit::kInt8Dot
              : format == ActFormat::kBF16 ? Unit::kBf16Dot
                                           : Unit::kF32Fma;
  return loops.unit[static_cast<size_t>(unit)](1) > 0 ? unit : Unit::kF32Fma;
}

}  // namespace hearth
