#include "formats/token_index.h"

#include <algorithm>

namespace hearth {

namespace {

uint64_t head_of(std::string_view text) {
  uint64_t head = 0;
  for (size_t i = 0; i < 8; ++i) {
    head = (head << 8) | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0u);
  }
  return head;
}

size_t common_prefix(std::string_view a, std::string_view b) {
  size_t limit = std::min(a.size(), b.size());
  size_t length = 0;
  while (length < limit && a[length] == b[length]) ++length;
  return length;
}

}  // namespace

TokenIndex::TokenIndex(std::span<const std::string> tokens) : tokens_(tokens) {
  entries_.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) entries_.push_back({head_of(tokens[id]), static_cast<int32_t>(id)});
  }
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    if (a.head != b.head) return a.head < b.head;
    int order = tokens_[a.id].compare(tokens_[b.id]);
    return order != 0 ? order < 0 : a.id > b.id;
  });
  auto last = std::unique(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return a.head == b.head && tokens_[a.id] == tokens_[b.id];
  });
  duplicates_ = static_cast<size_t>(entries_.end() - last);
  entries_.erase(last, entries_.end());
}

std::vector<int32_t> TokenIndex::sorted_ids() const {
  std::vector<int32_t> ids;
  ids.reserve(entries_.size());
  for (const Entry& entry : entries_) ids.push_back(entry.id);
  return ids;
}

size_t TokenIndex::upper_bound(std::string_view text) const {
  uint64_t head = head_of(text);
  auto above = std::upper_bound(entries_.begin(), entries_.end(), text,
                                [&](std::string_view value, const Entry& entry) {
                                  if (head != entry.head) return head < entry.head;
                                  return value.compare(tokens_[entry.id]) < 0;
                                });
  return static_cast<size_t>(above - entries_.begin());
}

int32_t TokenIndex::find(std::string_view text) const {
  size_t above = upper_bound(text);
  if (above == 0) return kNone;
  int32_t id = entries_[above - 1].id;
  return tokens_[id] == text ? id : kNone;
}

TokenIndex::Match TokenIndex::longest_prefix(std::string_view text) const {
  // The last token up to `text` has the longest common beginning with it, so the token sought is no
  // longer than that.
  while (!text.empty()) {
    size_t above = upper_bound(text);
    if (above == 0) break;
    int32_t id = entries_[above - 1].id;
    size_t shared = common_prefix(text, tokens_[id]);
    if (shared == tokens_[id].size()) return {id, shared};
    text = text.substr(0, shared);
  }
  return {};
}

}  // namespace hearth
