#include "chat/turn_text.h"

#include <algorithm>
#include <utility>

#include "chat/marker_space.h"

namespace hearth {

size_t begun_at_end(std::string_view text, std::string_view marker) {
  for (size_t size = std::min(text.size(), marker.size()); size > 0; --size) {
    if (text.ends_with(marker.substr(0, size))) return size;
  }
  return 0;
}

void TurnText::push(std::string_view bytes, bool control, std::vector<TurnEvent>* events) {
  held_ += bytes;
  const size_t kept = control ? 0 : begun_at_end(held_, marker_);
  const std::string ready = held_.substr(0, held_.size() - kept);
  held_.erase(0, ready.size());
  give(ready, events);
}

void TurnText::cut(std::vector<TurnEvent>* events) {
  if (held_ == marker_) held_.clear();
  give(std::exchange(held_, {}), events);
  // An incomplete character ends with its text: its U+FFFD comes before the markup.
  event(utf8_.flush(), events);
}

void TurnText::end_block() {
  if (begun_) spaces_.clear();
  behind_block_ = true;
  begun_ = false;
}

void TurnText::end(std::vector<TurnEvent>* events) {
  give(std::exchange(held_, {}), events);
  // White space at the end is not part of reasoning. It is part of content, unless the content
  // comes after a block and is only white space.
  if (kind_ == TurnEvent::Kind::kContent && (!behind_block_ || begun_)) {
    event(utf8_.push(std::exchange(spaces_, {})), events);
  }
  event(utf8_.flush(), events);
}

// Gives out bytes, but holds back white space at their end until more comes.
void TurnText::give(std::string_view bytes, std::vector<TurnEvent>* events) {
  const size_t last = bytes.find_last_not_of(kMarkerSpace);
  if (last == std::string_view::npos) {
    spaces_ += bytes;
    return;
  }
  std::string text = std::exchange(spaces_, {});
  const bool trims = behind_block_ || kind_ == TurnEvent::Kind::kReasoning;
  if (!begun_ && trims) {
    text.clear();
    const size_t first = bytes.find_first_not_of(kMarkerSpace);
    text += bytes.substr(first, last + 1 - first);
  } else {
    text += bytes.substr(0, last + 1);
  }
  spaces_ = bytes.substr(last + 1);
  begun_ = true;
  event(utf8_.push(text), events);
}

void TurnText::event(std::string text, std::vector<TurnEvent>* events) {
  if (text.empty()) return;
  if (!events->empty() && events->back().kind == kind_) {
    events->back().text += text;
  } else {
    events->push_back({.kind = kind_, .text = std::move(text)});
  }
}

}  // namespace hearth
