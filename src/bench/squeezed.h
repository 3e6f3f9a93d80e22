// What tests of reports share: tables compared by what their cells say, not by their width.
#pragma once

#include <string>

namespace hearth {

// Without the padding of a table's cells.
inline std::string squeezed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

}  // namespace hearth
