#include "grammar/vocabulary_trie.h"

#include <algorithm>
#include <map>

#include "base/utf8.h"

namespace hearth {
namespace {

constexpr uint32_t kAnyLength = 0xffffffff;

// What JSON's strings have without an escape.
CodePoints plain_characters() {
  return CodePoints{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}, {0x7f, 0x7f}}.complement();
}

// Returns how many characters `text` has; 0 where it has others than those or is no UTF-8.
uint32_t count_characters(std::string_view text, const CodePoints& characters) {
  uint32_t count = 0;
  while (!text.empty()) {
    size_t size = utf8_sequence(text);
    if (size == 0 || !characters.contains(utf8_decode(text.substr(0, size)))) return 0;
    text.remove_prefix(size);
    ++count;
  }
  return count;
}

VocabularyTrie::Automaton make_automaton(const CodePoints& characters) {
  RegexSet set;
  RegexId whole = utf8_regex(set, characters);
  std::vector<RegexId> states{whole};
  VocabularyTrie::Automaton automaton;
  for (size_t at = 0; at < states.size(); ++at) {
    std::array<uint8_t, 256> row;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      RegexId rest = set.derive(states[at], static_cast<uint8_t>(byte));
      if (rest == set.empty()) rest = whole;
      size_t known = static_cast<size_t>(std::ranges::find(states, rest) - states.begin());
      if (rest != set.nothing() && known == states.size()) states.push_back(rest);
      row[byte] = rest == set.nothing() ? VocabularyTrie::kNoState : static_cast<uint8_t>(known);
    }
    automaton.push_back(row);
  }
  return automaton;
}

TokenRole role_of(const Tokenizer& tokenizer, int32_t id) {
  if (tokenizer.is_eog(id)) return TokenRole::kEnd;
  switch (tokenizer.vocab().types[static_cast<size_t>(id)]) {
    case TokenType::kControl:
      return TokenRole::kControl;
    case TokenType::kUnknown:
    case TokenType::kUnused:
      return TokenRole::kUnused;
    default:
      return TokenRole::kText;
  }
}

}  // namespace

std::shared_ptr<const VocabularyTrie> VocabularyTrie::of(const Tokenizer& tokenizer) {
  std::vector<VocabularyToken> tokens(tokenizer.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    auto id = static_cast<int32_t>(i);
    tokens[i].role = role_of(tokenizer, id);
    if (tokens[i].role == TokenRole::kText) tokens[i].bytes = tokenizer.token_bytes(id);
  }
  return std::make_shared<const VocabularyTrie>(tokens);
}

VocabularyTrie::VocabularyTrie(std::span<const VocabularyToken> tokens) {
  std::vector<int32_t> sorted;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const VocabularyToken& token = tokens[i];
    auto id = static_cast<int32_t>(i);
    bool text = token.role == TokenRole::kText;
    bool usable = !token.bytes.empty() && token.bytes.size() < kLongestToken;
    begins_.push_back(static_cast<uint32_t>(bytes_.size()));
    roles_.push_back(text && !usable ? TokenRole::kUnused : token.role);
    if (token.role == TokenRole::kEnd) ends_.push_back(id);
    if (!text || !usable) continue;
    bytes_ += token.bytes;
    sorted.push_back(id);
    if (token.bytes.size() == 1) single_bytes_.set(static_cast<uint8_t>(token.bytes[0]));
  }
  begins_.push_back(static_cast<uint32_t>(bytes_.size()));
  std::ranges::stable_sort(sorted, {}, [this](int32_t id) { return bytes(id); });
  size_t kept = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (kept > 0 && bytes(sorted[kept - 1]) == bytes(sorted[i])) {
      twins_.emplace_back(sorted[kept - 1], sorted[i]);
    } else {
      sorted[kept++] = sorted[i];
    }
  }
  sorted.resize(kept);
  nodes_ = make_nodes(sorted);
  CodePoints plain = plain_characters();
  add_slice(plain, kAnyLength, sorted);
  add_slice(plain.intersection(CodePoints{{'<', '<'}}.complement()), kAnyLength, sorted);
  add_slice(plain, 16, sorted);
  add_slice(CodePoints{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, kAnyLength, sorted);
}

std::string_view VocabularyTrie::bytes(int32_t id) const {
  size_t begin = begins_[static_cast<size_t>(id)], end = begins_[static_cast<size_t>(id) + 1];
  return std::string_view(bytes_).substr(begin, end - begin);
}

// `sorted`: by their bytes, which differ.
std::vector<VocabularyTrie::Node> VocabularyTrie::make_nodes(
    std::span<const int32_t> sorted) const {
  std::vector<Node> nodes;
  std::vector<size_t> open;  // the nodes of the last token, by depth
  auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      nodes[open.back()].next = static_cast<uint32_t>(nodes.size());
    }
  };
  std::string_view last;
  for (int32_t id : sorted) {
    std::string_view text = bytes(id);
    size_t shared = 0;
    while (shared < last.size() && shared < text.size() && last[shared] == text[shared]) ++shared;
    close_to(shared);
    for (size_t depth = shared; depth < text.size(); ++depth) {
      open.push_back(nodes.size());
      nodes.push_back({.token = -1,
                       .next = 0,
                       .depth = static_cast<uint16_t>(depth),
                       .byte = static_cast<uint8_t>(text[depth])});
    }
    nodes.back().token = id;
    last = text;
  }
  close_to(0);
  return nodes;
}

// Adds the slice of the tokens that have these characters alone, at most `longest`.
void VocabularyTrie::add_slice(const CodePoints& characters, uint32_t longest,
                               std::span<const int32_t> sorted) {
  Slice slice;
  slice.characters = characters;
  slice.mask.assign(mask_words(), 0);
  std::vector<int32_t> others;
  for (int32_t id : sorted) {
    uint32_t count = count_characters(bytes(id), characters);
    if (count == 0 || count > longest) {
      others.push_back(id);
      continue;
    }
    slice.longest = std::max(slice.longest, count);
    slice.mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  }
  if (slice.longest == 0) return;
  slice.others = make_nodes(others);
  slice.automaton = make_automaton(characters);
  slices_.push_back(std::move(slice));
}

}  // namespace hearth
