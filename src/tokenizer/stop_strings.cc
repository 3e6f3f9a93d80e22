#include "tokenizer/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hearth {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  patterns_.reserve(stops.size());
  for (std::string& stop : stops) {
    if (stop.empty()) {
      fail(ErrorCode::kRequest, "a stop string is empty: leave it out");
    }
    Pattern pattern{std::move(stop), {}};
    // border[i] is that of the first i + 1 bytes.
    pattern.border.assign(pattern.text.size(), 0);
    for (size_t i = 1, length = 0; i < pattern.text.size(); ++i) {
      while (length > 0 && pattern.text[i] != pattern.text[length]) {
        length = pattern.border[length - 1];
      }
      if (pattern.text[i] == pattern.text[length]) ++length;
      pattern.border[i] = length;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void StopMatcher::Pattern::advance(char c) {
  while (state > 0 && text[state] != c) state = border[state - 1];
  if (text[state] == c) ++state;
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  size_t hold = 0;
  for (char c : text) {
    held_.push_back(c);
    hold = 0;
    const Pattern* complete = nullptr;
    for (Pattern& pattern : patterns_) {
      pattern.advance(c);
      hold = std::max(hold, pattern.state);
      if (pattern.state == pattern.text.size() &&
          (complete == nullptr || pattern.text.size() > complete->text.size())) {
        complete = &pattern;
      }
    }
    if (complete != nullptr) {
      stopped_ = true;
      matched_ = complete->text;
      hold = matched_.size();
      break;
    }
  }
  if (text.empty()) return {};
  std::string safe = held_.substr(0, held_.size() - hold);
  held_ = stopped_ ? std::string() : held_.substr(safe.size());
  return safe;
}

std::string StopMatcher::flush() {
  for (Pattern& pattern : patterns_) pattern.state = 0;
  return std::exchange(held_, {});
}

}  // namespace hearth
