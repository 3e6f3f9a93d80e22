// Looks for what `hearth tune` stored when an engine is started, by machine and model shape
// (cost/tuned_store.h), and takes it where the options leave open who works where. Products of
// sizes that the processor's own schedules name (kernels/processor_schedules.h) are computed by
// these, unless tuning found others for them.
#pragma once

#include <optional>

#include "base/listener.h"
#include "cost/tuned_store.h"
#include "engine/engine_options.h"
#include "engine/engine_plan.h"

namespace hearth {

// Whether the options leave the placement of threads and the schedules of products to the program.
bool leaves_plan_open(const EngineOptions& options);

// Returns the plan that was found, for steps of the rows that `options` have, but up to as many
// rows for decode as was found, where they leave that at the default; none where there is none that
// gains. Throws (kUsage) where the text is no plan of this machine.
std::optional<EnginePlan> tuned_plan(const Tuned& tuned, const Machine& machine,
                                     const EngineOptions& options);

// Returns the options with the plan and schedules that `hearth tune` kept for this model on this
// machine, where they leave the placement of threads open; else as they are. Tells the listener in
// a line what is used, or why nothing can be.
EngineOptions with_tuned(const Machine& machine, Isa isa, const ModelSpec& spec,
                         EngineOptions options, const Listener& listener = {});

}  // namespace hearth
