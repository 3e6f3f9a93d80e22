// Lists of whole numbers and ranges of them, as in "0-3,8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// The numbers of the list in its order, each below `limit`; empty where the text is no such list.
// Between numbers and ranges stands one `separator`, and nothing else: no white space.
std::optional<std::vector<uint32_t>> parse_number_list(std::string_view text, char separator,
                                                       uint32_t limit);

// The list of rising numbers with commas, ranges where two or more follow one another: what
// parse_number_list() reads.
std::string number_list_text(const std::vector<uint32_t>& rising);

}  // namespace hearth
