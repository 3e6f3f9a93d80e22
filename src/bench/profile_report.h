// Where the time of a test went, op by op and thread by thread, for people: Markdown tables.
#pragma once

#include <string>

#include "bench/figures.h"

namespace hearth {

// The limits that ops are held against: those of the run that the profile is of.
MachineLimits machine_limits(const LimitSample& best);

// `title` stands above the tables.
std::string profile_markdown(const std::string& title, const ProfileSummary& summary,
                             const LimitSample& best);

}  // namespace hearth
