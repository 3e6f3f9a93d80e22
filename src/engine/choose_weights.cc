#include "engine/choose_weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "engine/engine_layout.h"

namespace hearth {
namespace {

constexpr std::array kByFineness = {DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_K};

bool has_room(const ModelSpec& spec, const Machine& machine, Isa isa,
              std::span<const EngineOptions> engines) {
  Machine part = machine;  // the machine with one engine's share of the memory
  part.memory_available /= engines.size();
  return std::ranges::all_of(engines, [&](const EngineOptions& options) {
    try {
      const EngineLayout layout = lay_out_engine(spec, part, isa, options);
      return layout.kv.page_count() >= layout.kv_pages_wanted;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
      return false;
    }
  });
}

}  // namespace

WeightChoice choose_weights(const ModelSource& source, const ModelSpec& spec,
                            const Machine& machine, Isa isa,
                            std::span<const EngineOptions> engines) {
  WeightChoice choice{spec};
  choice.spec.policy.automatic = false;
  choice.fits = has_room(choice.spec, machine, isa, engines);
  WeightPolicy policy = choice.spec.policy;
  for (const DType type : kByFineness) {
    if (choice.fits) break;
    policy.type = type;
    ModelSpec made = make_spec(source, policy);
    const bool changes = std::ranges::any_of(
        made.weights, [&](const WeightSpec& weight) { return is_made_by_policy(made, weight); });
    if (!changes) continue;
    choice.spec = std::move(made);
    choice.fits = has_room(choice.spec, machine, isa, engines);
  }
  return choice;
}

}  // namespace hearth
