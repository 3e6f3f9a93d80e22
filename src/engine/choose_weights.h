// The types of weights where a WeightPolicy leaves them to the program: the finest with which the
// model fits into memory beside its keys and values.
#pragma once

#include "engine/engine_options.h"
#include "formats/model_source.h"
#include "models/model_spec.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

// Returns `spec` where its policy leaves nothing open. Else the weights of `source` stay as they
// are, or become q8_0, q6_k, q5_k or q4_k: the first of these with which an engine of these options
// has the KV pages that were asked for; the last where none has, which the engine then refuses or
// gives fewer pages.
ModelSpec choose_weights(const ModelSource& source, const ModelSpec& spec, const Machine& machine,
                         Isa isa, const EngineOptions& options);

}  // namespace hearth
