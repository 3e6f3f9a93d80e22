#include "tokenizer/special_tokens.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizer/characters.h"

namespace hearth {

namespace {

bool is_between(std::string_view text, std::string_view begin, std::string_view end) {
  return text.size() > begin.size() + end.size() && text.starts_with(begin) && text.ends_with(end);
}

// Returns whether the text looks like "[INST]", "[/INST]" or "[SYSTEM_PROMPT]".
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

SpecialTokens::SpecialTokens(const Vocab& vocab) : vocab_(vocab) {
  for (size_t all : {0, 1}) {
    std::vector<Entry> entries;
    for (size_t i = 0; i < vocab.tokens.size(); ++i) {
      auto id = static_cast<int32_t>(i);
      if (is_sought(id, all == 1, false)) entries.push_back({vocab.tokens[i], id});
    }
    lengths_[all] = lengths_of(std::move(entries));
  }
}

SpecialTokens::SpecialTokens(const Vocab& vocab,
                             const std::function<std::string(std::string_view)>& normalize)
    : vocab_(vocab) {
  for (size_t all : {0, 1}) {
    std::vector<Entry> entries;
    for (const AddedRule& rule : vocab.added) {
      if (!is_sought(rule.id, all == 1, true)) continue;
      entries.push_back({normalize(vocab.tokens[rule.id]), rule.id});
    }
    lengths_[all] = lengths_of(std::move(entries));
  }
}

bool SpecialTokens::is_sought(int32_t id, bool with_control, bool normalized) const {
  TokenType type = vocab_.types[id];
  bool control = type == TokenType::kControl || type == TokenType::kUnknown;
  if (type != TokenType::kUserDefined && !(control && with_control)) return false;
  const AddedRule* rule = find_added_rule(vocab_, id);
  if (normalized != (rule != nullptr && rule->normalized)) return false;
  bool text = vocab_.kind == VocabKind::kUnigram && type == TokenType::kUserDefined;
  return !text || is_guarded_token(vocab_, id);
}

std::vector<SpecialTokens::Length> SpecialTokens::lengths_of(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.text.empty(); });
  // If several tokens have the same text, the last id counts, as in TokenIndex.
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    if (a.text.size() != b.text.size()) return a.text.size() > b.text.size();
    int order = a.text.compare(b.text);
    return order != 0 ? order < 0 : a.id > b.id;
  });
  auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
  std::vector<Length> lengths;
  for (Entry& entry : entries) {
    if (lengths.empty() || lengths.back().bytes != entry.text.size()) {
      lengths.push_back({entry.text.size(), {}, {}});
    }
    lengths.back().first.set(static_cast<uint8_t>(entry.text[0]));
    lengths.back().entries.push_back(std::move(entry));
  }
  return lengths;
}

int32_t SpecialTokens::find(const Length& length, std::string_view text) {
  auto found = std::ranges::lower_bound(
      length.entries, text, {}, [](const Entry& entry) { return std::string_view(entry.text); });
  return found != length.entries.end() && found->text == text ? found->id : Vocab::kNone;
}

int32_t SpecialTokens::match(const Length& length, const Search& search, size_t at) const {
  if (at + length.bytes > search.text.size() ||
      !length.first.test(static_cast<uint8_t>(search.text[at]))) {
    return Vocab::kNone;
  }
  const int32_t id = find(length, search.text.substr(at, length.bytes));
  const size_t begin = search.offset + at;
  const bool forged = id != Vocab::kNone &&
                      touches(search.untrusted, begin, begin + length.bytes) &&
                      is_guarded_token(vocab_, id);
  return forged ? Vocab::kNone : id;
}

void SpecialTokens::take(std::string_view text, int32_t id, size_t begin, size_t end, size_t* done,
                         std::vector<TextPart>& parts) const {
  const std::string_view written = text.substr(begin, end - begin);
  if (const AddedRule* rule = find_added_rule(vocab_, id)) {
    bool alone = !ends_with_word(text.substr(0, begin)) && !begins_with_word(text.substr(end));
    if (rule->single_word && !alone) return;
    if (rule->strip_left) {
      begin = std::max(*done, begin - white_space_behind(text.substr(*done, begin - *done)));
    }
    // Does not look again at white space that the token before took.
    if (rule->strip_right) {
      end = end < *done ? *done : end + white_space_before(text.substr(end));
    }
  }
  if (begin > *done) parts.push_back({text.substr(*done, begin - *done), Vocab::kNone});
  parts.push_back({written, id});
  *done = std::max(*done, end);
}

void SpecialTokens::cut(const Length& length, const Search& search,
                        std::vector<TextPart>& parts) const {
  size_t done = 0;
  for (size_t at = 0; at + length.bytes <= search.text.size();) {
    const int32_t id = match(length, search, at);
    if (id != Vocab::kNone) take(search.text, id, at, at + length.bytes, &done, parts);
    at = id == Vocab::kNone ? at + 1 : std::max(at + length.bytes, done);
  }
  if (done < search.text.size()) parts.push_back({search.text.substr(done), Vocab::kNone});
}

void SpecialTokens::scan(const std::vector<Length>& lengths, const Search& search,
                         std::vector<TextPart>& parts) const {
  std::bitset<256> first;
  for (const Length& length : lengths) first |= length.first;
  size_t done = 0;
  for (size_t at = 0; at < search.text.size();) {
    size_t bytes = 1;
    if (first.test(static_cast<uint8_t>(search.text[at]))) {
      for (const Length& length : lengths) {
        const int32_t id = match(length, search, at);
        if (id == Vocab::kNone) continue;
        take(search.text, id, at, at + length.bytes, &done, parts);
        bytes = length.bytes;
        break;
      }
    }
    at += bytes;
  }
  if (done < search.text.size()) parts.push_back({search.text.substr(done), Vocab::kNone});
}

std::vector<TextPart> SpecialTokens::partition(std::string_view text, bool parse_special,
                                               ByteRanges untrusted, Pace* pace) const {
  // How many searched bytes count as one unit of work, since searching is quicker than encoding.
  constexpr size_t kLooksPerUnit = 64;
  std::vector<TextPart> parts;
  const std::vector<Length>& lengths = lengths_[parse_special ? 1 : 0];
  if (vocab_.rules) {
    scan(lengths, {text, 0, untrusted}, parts);
    if (pace != nullptr) pace->did(text.size() / kLooksPerUnit);
    return parts;
  }
  if (!text.empty()) parts.push_back({text, Vocab::kNone});
  std::vector<TextPart> next;
  for (const Length& length : lengths) {
    next.clear();
    for (const TextPart& part : parts) {
      if (part.token == Vocab::kNone) {
        auto offset = static_cast<size_t>(part.text.data() - text.data());
        cut(length, {part.text, offset, untrusted}, next);
      } else {
        next.push_back(part);
      }
    }
    std::swap(parts, next);
    if (pace != nullptr) pace->did(text.size() / kLooksPerUnit);
  }
  return parts;
}

}  // namespace hearth
