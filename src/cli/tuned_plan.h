// What `hearth tune` found, where a verb runs a model: looked for by machine and model shape
// (tune/tuned_store.h), and taken where the user says nothing of who works where.
#pragma once

#include <optional>

#include "cli/options.h"
#include "engine/engine.h"
#include "tune/tuned_store.h"

namespace hearth {

// Of this user (TunedStore::of_environment()).
TunedStore environment_store();

// Whether the options leave to the program who works where.
bool leaves_plan_open(const EngineArgs& args);

// Returns the plan that was found, for steps of the rows that `options` have, but up to as many
// rows for decode as was found, where they leave that at the default; none where there is none that
// gains. Throws (kUsage) where the text is no plan of this machine.
std::optional<EnginePlan> tuned_plan(const Tuned& tuned, const Machine& machine,
                                     const EngineOptions& options);

// Sets the plan and the schedules that were found for this model on this machine, where `args`
// leave open who works where, and says so in a line; in a line, too, why there is nothing that can
// be used. `options` are otherwise complete.
void use_tuned(const Machine& machine, Isa isa, const ModelSpec& spec, const EngineArgs& args,
               EngineOptions* options);

}  // namespace hearth
