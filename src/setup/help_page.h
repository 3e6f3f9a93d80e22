// Fits a page of help, as the command line's parser writes it, to a window: wraps lines, aligns the
// texts of options, and leaves examples as they are. The rare section is left out unless `all`; a
// line then says how to see it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// The column in which the texts of options begin.
inline constexpr size_t kHelpColumn = 34;
// The section of rarely used options.
inline constexpr std::string_view kRareSection = "Limits";

// `verb` is the page's verb, for the line about the rare section; empty: the program's own page.
std::string help_page(std::string_view page, size_t columns, bool all, const std::string& verb);

}  // namespace hearth
