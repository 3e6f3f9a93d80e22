#include "setup/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hearth {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    size_t distance = edit_distance(typed, name);
    bool begins = typed.size() > 1 && std::string_view(name).starts_with(typed);
    if (begins || distance <= std::max<size_t>(1, typed.size() / 3)) {
      ranked.emplace_back(distance, name);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> near;
  for (auto& [distance, name] : ranked) near.push_back(std::move(name));
  return near;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  std::vector<std::string> near = near_names(typed, names);
  if (near.empty()) return {};
  return fmt::format("; did you mean '{}'?", fmt::join(near, "' or '"));
}

}  // namespace hearth
