// Lists of whole numbers and ranges of them, as in "0-3,8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Parses a list; returns its numbers in order, each below `limit`, or none where the text is not a
// list. One `separator` stands between numbers and ranges, and nothing else: no white space.
std::optional<std::vector<uint32_t>> parse_number_list(std::string_view text, char separator,
                                                       uint32_t limit);

// Writes ascending numbers as a list with commas, with ranges where two or more follow one another:
// the form that parse_number_list() reads.
std::string number_list_text(const std::vector<uint32_t>& rising);

}  // namespace hearth
