#include "grammar/vocabulary_trie.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace hearth {
namespace {

constexpr size_t kMaxPlainMasks = 64;

// Returns how many characters `text` has; 0 where one is not in the set, or the text is not UTF-8.
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
    const auto quotes = std::ranges::count(token.bytes, '"');
    if (quotes > 0) (quotes == 1 ? quoted_once_ : quoted_more_).push_back(id);
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
  add_slice(plain, sorted);
  add_slice(plain.intersection(CodePoints{{'<', '<'}}.complement()), sorted);
  count_plain();
}

std::string_view VocabularyTrie::bytes(int32_t id) const {
  size_t begin = begins_[static_cast<size_t>(id)], end = begins_[static_cast<size_t>(id) + 1];
  return std::string_view(bytes_).substr(begin, end - begin);
}

// Makes the trie of tokens that are sorted by their bytes, which all differ.
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

// Adds the slice of the tokens that have only these characters.
void VocabularyTrie::add_slice(const CodePoints& characters, std::span<const int32_t> sorted) {
  Slice slice;
  slice.characters = characters;
  slice.mask.assign(mask_words(), 0);
  std::vector<int32_t> others;
  for (int32_t id : sorted) {
    uint32_t count = count_characters(bytes(id), characters);
    if (count == 0) {
      others.push_back(id);
      continue;
    }
    slice.longest = std::max(slice.longest, count);
    set_bit(slice.mask, id);
  }
  if (slice.longest == 0) return;
  RegexSet set;
  slice.others = make_nodes(others);
  slice.automaton = *make_character_automaton(set, utf8_regex(set, characters));
  slices_.push_back(std::move(slice));
}

void VocabularyTrie::count_plain() {
  if (slices_.empty()) return;
  const Slice& plain = slices_[0];
  plain_masks_.push_back({plain.automaton, std::make_shared<const Bits>(plain.mask)});
  plain_by_length_.assign(plain.longest, Bits(mask_words()));
  for (size_t i = 0; i < size(); ++i) {
    auto id = static_cast<int32_t>(i);
    if (!has_bit(plain.mask, id)) continue;
    set_bit(plain_by_length_[count_characters(bytes(id), plain.characters) - 1], id);
  }
  for (size_t i = 1; i < plain_by_length_.size(); ++i) {
    for (size_t word = 0; word < mask_words(); ++word) {
      plain_by_length_[i][word] |= plain_by_length_[i - 1][word];
    }
  }
}

const VocabularyTrie::Bits& VocabularyTrie::plain_up_to(uint64_t characters) const {
  size_t most = std::min<uint64_t>(characters, plain_by_length_.size());
  return plain_by_length_[most - 1];
}

std::shared_ptr<const VocabularyTrie::Bits> VocabularyTrie::plain_of(
    const CharacterAutomaton& characters) const {
  std::lock_guard lock(plain_mutex_);
  for (const PlainMask& known : plain_masks_) {
    if (known.characters == characters) return known.bits;
  }
  PlainMask made{characters, std::make_shared<const Bits>(make_plain(characters))};
  if (plain_masks_.size() < kMaxPlainMasks) {
    plain_masks_.push_back(made);
  } else {
    plain_masks_[next_plain_++ % kMaxPlainMasks] = made;
  }
  return made.bits;
}

VocabularyTrie::Bits VocabularyTrie::make_plain(const CharacterAutomaton& characters) const {
  Bits bits(mask_words());
  std::array<uint8_t, kLongestToken + 1> path{};
  for (size_t i = 0; i < nodes_.size();) {
    const Node& node = nodes_[i];
    uint8_t state = characters[path[node.depth]][node.byte];
    if (state == kNoState) {
      i = node.next;
      continue;
    }
    path[node.depth + 1u] = state;
    if (node.token >= 0 && state == 0) set_bit(bits, node.token);
    ++i;
  }
  for (size_t word = 0; word < bits.size(); ++word) bits[word] &= slices_[0].mask[word];
  return bits;
}

}  // namespace hearth
