// Removes white space (blanks, tabs, newlines) around the markers of turns. Results are views of
// the text.
#pragma once

#include <algorithm>
#include <string_view>

namespace hearth {

inline constexpr std::string_view kMarkerSpace = " \t\r\n";

inline bool is_marker_space(char c) { return kMarkerSpace.find(c) != std::string_view::npos; }

inline std::string_view without_space_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kMarkerSpace), text.size()));
}

inline std::string_view without_space_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kMarkerSpace) + 1);
}

inline std::string_view without_space_around(std::string_view text) {
  return without_space_behind(without_space_before(text));
}

}  // namespace hearth
