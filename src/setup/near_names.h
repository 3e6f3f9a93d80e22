// Finds names near a mistyped one, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Returns the least number of insertions, deletions, replacements and swaps of neighbours that turn
// `a` into `b` (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// Returns those of `names` that begin with `typed` or are at most a third of its length (and one
// edit) away from it, the nearest first.
std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names);

// Returns "; did you mean 'run' or 'topo'?", or "".
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace hearth
