// Chooses the types of weights if a WeightPolicy leaves them to the program: the finest with which
// the model fits into memory beside its keys and values.
#pragma once

#include <span>

#include "engine/engine_options.h"
#include "formats/model_source.h"
#include "models/model_spec.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

struct WeightChoice {
  ModelSpec spec;    // its policy is no longer automatic
  bool fits = true;  // whether every engine has the KV pages that were asked for
};

// Returns the spec with weights as `source` has them, or as q8_0, q6_k, q5_k or q4_k: the first of
// these with which engines of these options have the KV pages that were asked for. If no type fits,
// returns the last one, or the unchanged weights if no type changes any of them. All engines are in
// memory at the same time, each with a copy of the weights. If the memory is unknown, all types
// fit.
WeightChoice choose_weights(const ModelSource& source, const ModelSpec& spec,
                            const Machine& machine, Isa isa,
                            std::span<const EngineOptions> engines);

}  // namespace hearth
