#include "engine/choose_weights.h"

#include <array>

#include "base/error.h"
#include "engine/engine_layout.h"

namespace hearth {
namespace {

constexpr std::array kByFineness = {DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_K};

bool has_room(const ModelSpec& spec, const Machine& machine, Isa isa,
              const EngineOptions& options) {
  try {
    const EngineLayout layout = lay_out_engine(spec, machine, isa, options);
    return layout.kv.page_count() >= layout.kv_pages_wanted;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return false;
  }
}

}  // namespace

ModelSpec choose_weights(const ModelSource& source, const ModelSpec& spec, const Machine& machine,
                         Isa isa, const EngineOptions& options) {
  ModelSpec chosen = spec;
  chosen.policy.automatic = false;
  if (!spec.policy.automatic || has_room(chosen, machine, isa, options)) return chosen;
  WeightPolicy policy = chosen.policy;
  for (const DType type : kByFineness) {
    policy.type = type;
    chosen = make_spec(source, policy);
    if (has_room(chosen, machine, isa, options)) break;
  }
  return chosen;
}

}  // namespace hearth
