// The words that `hearth tune` ends with, also about what is stored.
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
// Returns a line about what was not decided, and why as far as it is known; `what` is "plan" or
// "schedule".
std::string doubt_text(const TuneDoubt& doubt, const char* what);
// Returns which schedules of products were found and what they save; `all`: for every product.
std::string kernels_text(const Tuned& tuned, bool all);
// Returns one object of JSON; `kernels`: with the results for kernels. The path is empty where
// nothing was stored.
std::string outcomes_json(const TuningResult& result, bool kernels);

std::string stored_text(const TunedStore::Entry& entry);

}  // namespace hearth
