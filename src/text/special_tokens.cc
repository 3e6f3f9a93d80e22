#include "text/special_tokens.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hearth {

namespace {

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_between(std::string_view text, std::string_view begin, std::string_view end) {
  return text.size() > begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end);
}

// "[INST]", "[/INST]", "[SYSTEM_PROMPT]"
bool is_bracketed_name(std::string_view text) {
  return is_between(text, "[", "]") &&
         std::ranges::all_of(text.substr(1, text.size() - 2),
                             [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; });
}

bool looks_like_marker(std::string_view text) {
  constexpr std::string_view kWideBar = "\xEF\xBD\x9C";  // U+FF5C, in DeepSeek's tokens
  if (is_between(text, "<|", "|>") || is_between(text, "<", "_of_turn>")) return true;
  return is_bracketed_name(text) ||
         is_between(text, "<" + std::string(kWideBar), std::string(kWideBar) + ">");
}

bool touches(SpecialTokens::ByteRanges ranges, size_t begin, size_t end) {
  auto range = std::ranges::upper_bound(ranges, begin, {}, &std::pair<size_t, size_t>::second);
  return range != ranges.end() && range->first < end;
}

}  // namespace

bool is_guarded_token(const Vocab& vocab, int32_t id) {
  TokenType type = vocab.types[id];
  if (type == TokenType::kControl || type == TokenType::kUnknown) return true;
  if (type != TokenType::kUserDefined) return false;
  bool ends = std::binary_search(vocab.eog.begin(), vocab.eog.end(), id);
  return ends || id == vocab.bos || looks_like_marker(vocab.tokens[id]);
}

SpecialTokens::SpecialTokens(const Vocab& vocab)
    : vocab_(vocab), lengths_{lengths_of(false), lengths_of(true)} {}

std::vector<SpecialTokens::Length> SpecialTokens::lengths_of(bool with_control) const {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
    TokenType type = vocab_.types[id];
    bool control = type == TokenType::kControl || type == TokenType::kUnknown;
    if (type != TokenType::kUserDefined && !(control && with_control)) continue;
    bool text = vocab_.kind == VocabKind::kUnigram && type == TokenType::kUserDefined;
    if (text && !is_guarded_token(vocab_, static_cast<int32_t>(id))) continue;
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

void SpecialTokens::cut(const Length& length, std::string_view text, size_t offset,
                        ByteRanges foreign, std::vector<TextPart>& parts) const {
  size_t done = 0;
  for (size_t at = 0; at + length.bytes <= text.size();) {
    int32_t id = Vocab::kNone;
    if (length.first.test(static_cast<uint8_t>(text[at]))) {
      id = find(length, text.substr(at, length.bytes));
    }
    if (id != Vocab::kNone && touches(foreign, offset + at, offset + at + length.bytes) &&
        is_guarded_token(vocab_, id)) {
      id = Vocab::kNone;
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

std::vector<TextPart> SpecialTokens::partition(std::string_view text, bool parse_special,
                                               ByteRanges foreign) const {
  std::vector<TextPart> parts;
  if (!text.empty()) parts.push_back({text, Vocab::kNone});
  std::vector<TextPart> next;
  for (const Length& length : lengths_[parse_special ? 1 : 0]) {
    next.clear();
    for (const TextPart& part : parts) {
      if (part.token == Vocab::kNone) {
        auto offset = static_cast<size_t>(part.text.data() - text.data());
        cut(length, part.text, offset, foreign, next);
      } else {
        next.push_back(part);
      }
    }
    std::swap(parts, next);
  }
  return parts;
}

}  // namespace hearth
