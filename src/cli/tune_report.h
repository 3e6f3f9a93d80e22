// The final report of `hearth tune`, as text and as JSON; also used for stored results.
#pragma once

#include <string>
#include <vector>

#include "cost/tuned_store.h"
#include "plan/plan.h"
#include "tune/tuning.h"

namespace hearth {

// Returns a text such as "2 groups of 4 to 5 threads, in lockstep, 1 rests".
std::string plan_words(const Plan& plan);

std::string outcomes_text(const std::vector<TuneOutcome>& outcomes);
// Returns a line about plans or schedules that could not be decided, with the reason if known;
// `what` is "plan" or "schedule".
std::string doubt_text(const TuneDoubt& doubt, const char* what);
// Returns text about the schedules found for products and their gains; `all` lists every product.
std::string kernels_text(const Tuned& tuned, bool all);
// Returns a JSON object; `kernels` adds results for kernels. The path in it is empty if nothing was
// stored.
std::string outcomes_json(const TuningResult& result, bool kernels);

std::string stored_text(const TunedStore::Entry& entry);
// Returns a JSON object with an array of all entries.
std::string stored_json(const std::vector<TunedStore::Entry>& entries);

}  // namespace hearth
