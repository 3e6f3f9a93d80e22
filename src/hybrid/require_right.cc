#include "hybrid/require_right.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "accelerator/check_kernels.h"
#include "base/error.h"

namespace hearth {
namespace {

std::vector<PackKind> kinds_of(const ModelSpec& spec,
                               const std::function<bool(const WeightSpec&)>& takes) {
  std::vector<PackKind> kinds;
  for (const WeightSpec& weight : spec.weights) {
    if (!weight.is_matrix() || !takes(weight) || std::ranges::count(kinds, weight.packed.kind) > 0)
      continue;
    kinds.push_back(weight.packed.kind);
  }
  return kinds;
}

}  // namespace

void require_right(Accelerator& accelerator, const ModelSpec& spec,
                   const std::function<bool(const WeightSpec&)>& takes) {
  check_kernels(accelerator, {.brief = true, .kinds = kinds_of(spec, takes)},
                [&](const KernelCheck& check) {
                  if (check.good()) return;
                  const std::string what =
                      check.refused.empty()
                          ? fmt::format("computes '{}' wrong: {}", check.contract, check.first)
                          : fmt::format("cannot compute '{}': {}", check.contract, check.refused);
                  fail(ErrorCode::kUnsupported, "{} {}; see `hearth gpu --check`",
                       accelerator.facts().name, what);
                });
}

}  // namespace hearth
