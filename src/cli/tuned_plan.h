// What `hearth tune` found, where a verb runs a model: looked for by machine and model shape
// (tune/tuned_store.h), and taken where the user says nothing of who works where.
#pragma once

#include "cli/options.h"
#include "engine/engine.h"
#include "tune/tuned_store.h"

namespace hearth {

// Of this user (TunedStore::of_environment()).
TunedStore environment_store();

// Whether the options leave to the program who works where.
bool leaves_plan_open(const EngineArgs& args);

// Sets the plan that was found for this model on this machine, with the rows of `options`, where
// `args` leave it open, and says so in a line; in a line, too, why there is none that can be used.
// `options` are otherwise complete.
void use_tuned_plan(const Machine& machine, Isa isa, const ModelSpec& spec, const EngineArgs& args,
                    EngineOptions* options);

}  // namespace hearth
