// Text from a file, made safe for a terminal or a log: a hostile name must not move the cursor,
// forge a line or fill the screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// Returns `text` with everything that is not a visible character or a space - control and format
// characters, bytes that are not UTF-8 - as \xNN, a backslash as \\, and "..." in place of the
// input beyond `max_bytes`.
std::string printable(std::string_view text, size_t max_bytes = 96);

}  // namespace hearth
