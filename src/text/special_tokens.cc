#include "text/special_tokens.h"

#include <algorithm>
#include <utility>

namespace hearth {

namespace {

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

SpecialTokens::SpecialTokens(const Vocab& vocab)
    : vocab_(vocab), lengths_{lengths_of(false), lengths_of(true)} {}

std::vector<SpecialTokens::Length> SpecialTokens::lengths_of(bool with_control) const {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
    TokenType type = vocab_.types[id];
    bool control = type == TokenType::kControl || type == TokenType::kUnknown;
    if (type != TokenType::kUserDefined && !(control && with_control)) continue;
    if (!vocab_.tokens[id].empty()) ids.push_back(static_cast<int32_t>(id));
  }
  auto text = [&](int32_t id) -> const std::string& { return vocab_.tokens[id]; };
  // Where a text stands twice, the last id counts, as in TokenIndex.
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    if (text(a).size() != text(b).size()) return text(a).size() > text(b).size();
    int order = text(a).compare(text(b));
    return order != 0 ? order < 0 : a > b;
  });
  ids.erase(
      std::unique(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return text(a) == text(b); }),
      ids.end());
  std::vector<Length> lengths;
  for (int32_t id : ids) {
    if (lengths.empty() || lengths.back().bytes != text(id).size()) {
      lengths.push_back({text(id).size(), {}, {}});
    }
    lengths.back().first.set(static_cast<uint8_t>(text(id)[0]));
    lengths.back().ids.push_back(id);
  }
  return lengths;
}

int32_t SpecialTokens::find(const Length& length, std::string_view text) const {
  auto found = std::lower_bound(
      length.ids.begin(), length.ids.end(), text,
      [&](int32_t id, std::string_view wanted) { return vocab_.tokens[id] < wanted; });
  return found != length.ids.end() && vocab_.tokens[*found] == text ? *found : Vocab::kNone;
}

void SpecialTokens::cut(const Length& length, std::string_view text,
                        std::vector<TextPart>& parts) const {
  size_t done = 0;
  for (size_t at = 0; at + length.bytes <= text.size();) {
    int32_t id = Vocab::kNone;
    if (length.first.test(static_cast<uint8_t>(text[at]))) {
      id = find(length, text.substr(at, length.bytes));
    }
    if (id == Vocab::kNone) {
      ++at;
      continue;
    }
    if (at > done) parts.push_back({text.substr(done, at - done), Vocab::kNone});
    parts.push_back({text.substr(at, length.bytes), id});
    at += length.bytes;
    if (std::binary_search(vocab_.strip_right.begin(), vocab_.strip_right.end(), id)) {
      while (at < text.size() && is_ascii_space(text[at])) ++at;
    }
    done = at;
  }
  if (done < text.size()) parts.push_back({text.substr(done), Vocab::kNone});
}

std::vector<TextPart> SpecialTokens::partition(std::string_view text, bool parse_special) const {
  std::vector<TextPart> parts;
  if (!text.empty()) parts.push_back({text, Vocab::kNone});
  std::vector<TextPart> next;
  for (const Length& length : lengths_[parse_special ? 1 : 0]) {
    next.clear();
    for (const TextPart& part : parts) {
      if (part.token == Vocab::kNone) {
        cut(length, part.text, next);
      } else {
        next.push_back(part);
      }
    }
    std::swap(parts, next);
  }
  return parts;
}

}  // namespace hearth
