// Lists of whole numbers and ranges of them, as in "0-3,8".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hearth {

// The numbers of the list in its order, each below `limit`; empty where the text is no such list.
// Between numbers and ranges stands one `separator`, and nothing else: no white space.
std::optional<std::vector<uint32_t>> parse_number_list(std::string_view text, char separator,
                                                       uint32_t limit);

}  // namespace hearth
