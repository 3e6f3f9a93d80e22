// A page of help as the parser writes it, made to fit a window: lines wrapped, options' texts
// below each other, examples as they are. Sections that `rare` names are left out, and a line tells
// how to see them, unless `all`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// The column in which the texts of options begin.
inline constexpr size_t kHelpColumn = 34;
// The section of options that few need.
inline constexpr std::string_view kRareSection = "Limits";

// `verb`: whose page it is, for the line that tells; empty: the program's.
std::string help_page(std::string_view page, size_t columns, bool all, const std::string& verb);

}  // namespace hearth
