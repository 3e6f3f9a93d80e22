// What `hearth tune` says at its end, and of what is stored.
#pragma once

#include <string>
#include <vector>

#include "cost/tuned_store.h"
#include "plan/plan.h"
#include "tune/tuning.h"

namespace hearth {

// "2 groups of 4 to 5 threads, in lockstep, 1 rests".
std::string plan_words(const Plan& plan);

std::string outcomes_text(const std::vector<TuneOutcome>& outcomes);
// What was not decided, in a line that says why as far as it is known: "plan", "schedule".
std::string doubt_text(const TuneDoubt& doubt, const char* what);
// What schedules of products were found and what they save; `all`: of every product.
std::string kernels_text(const Tuned& tuned, bool all);
// One object; `kernels`: with what was found of these. The path is empty where nothing was stored.
std::string outcomes_json(const TuningResult& result, bool kernels);

std::string stored_text(const TunedStore::Entry& entry);

}  // namespace hearth
