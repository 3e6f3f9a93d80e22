// Reports where the time of a test went, op by op and thread by thread. CSV has no such report.
#pragma once

#include <string>

#include "base/json.h"
#include "bench/figures.h"

namespace hearth {

// `best` holds the limits that ops are held against, from the run that was profiled. `title` stands
// above the tables.
std::string profile_markdown(const std::string& title, const ProfileSummary& summary,
                             const LimitSample& best);
// Writes the profile as a JSON object.
void profile_json(Json& json, const ProfileSummary& summary, const LimitSample& best);

}  // namespace hearth
