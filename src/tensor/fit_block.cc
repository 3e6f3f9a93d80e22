#include "tensor/fit_block.h"

#include <array>

#include "topology/cpu_features.h"

namespace hearth {
namespace {

struct LevelsHere {
  std::array<const FitLevel*, 3> levels{&kFitPlain};
  size_t count = 1;

  LevelsHere() {
#if defined(__x86_64__)
    const CpuFeatures features = detect_cpu_features();
    if (missing_for(Isa::kAvx2, features).empty()) levels[count++] = &kFitAvx2;
    if (missing_for(Isa::kAvx512, features).empty()) levels[count++] = &kFitAvx512;
#elif defined(__aarch64__)
    levels[count++] = &kFitNeon;
#endif
  }
};

}  // namespace

std::span<const FitLevel* const> fit_levels() {
  static const LevelsHere here;
  return {here.levels.data(), here.count};
}

}  // namespace hearth
