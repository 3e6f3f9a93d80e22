// Reports where the time of a test went, op by op and thread by thread. There is no such report in
// CSV.
#pragma once

#include <string>

#include "base/json.h"
#include "bench/figures.h"

namespace hearth {

// `best`: the limits that ops are held against, those of the run that the profile is of.
// `title` stands above the tables.
std::string profile_markdown(const std::string& title, const ProfileSummary& summary,
                             const LimitSample& best);
// Writes an object.
void profile_json(Json& json, const ProfileSummary& summary, const LimitSample& best);

}  // namespace hearth
