// Matcher's masks: finds all tokens that may follow.
#include <algorithm>
#include <array>

#include "grammar/matcher.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

// Limit on the pairs of position and automaton state that are followed; beyond it, walking a
// slice's tokens is cheaper.
constexpr size_t kMaxPairs = 512;

}  // namespace

void Matcher::mask(std::span<uint64_t> bits) {
  free_memory();
  size_t words = vocabulary_->mask_words();
  std::ranges::fill(bits.subspan(words), 0);
  bits = bits.first(words);
  PositionId at = positions_.clamped(at_);
  if (const MaskCache::Bits* known = masks_.find(at)) {
    std::ranges::copy(*known, bits.begin());
  } else {
    make_mask(at, bits);
    masks_.add(at, MaskCache::Bits(bits.begin(), bits.end()));
  }
  if (grammar_->names_once() != 0) clear_repeats(bits);
}

// Clears the tokens that complete a name that its object has, or after which only such names
// remain.
void Matcher::clear_repeats(std::span<uint64_t> bits) {
  if (!names_.has_names()) return;
  for (int32_t token : vocabulary_->quoted_more()) clear_repeat(bits, token);
  if (!grammar_->tight_names()) {
    if (!names_.may_repeat() || !names_.in_string()) return;
    for (int32_t token : vocabulary_->quoted_once()) clear_repeat(bits, token);
    return;
  }
  walk_repeats(bits);
  for (const auto& [first, twin] : vocabulary_->twins()) {
    if (!has_bit(bits, first)) clear_repeat(bits, twin);
  }
}

void Matcher::clear_repeat(std::span<uint64_t> bits, int32_t token) {
  if (has_bit(bits, token) && repeats_name(names_, at_, token)) clear_bit(bits, token);
}

// Walks the tokens as long as their beginnings end in, or before, a name that may repeat one of its
// object. Subtrees in other strings are left out: a token that ends such a string and begins a name
// has two quotation marks, and clear_repeats() checks those.
void Matcher::walk_repeats(std::span<uint64_t> bits) {
  if (names_.in_other_string()) return;
  const std::span<const VocabularyTrie::Node> nodes = vocabulary_->nodes();
  std::vector<PositionId> path{at_};
  std::vector<NameTracker> names{names_};
  for (size_t i = 0; i < nodes.size();) {
    const VocabularyTrie::Node& node = nodes[i];
    path.resize(node.depth + 1u);
    names.resize(node.depth + 1u);
    const PositionId next = positions_.step(path.back(), node.byte);
    NameTracker then = names.back();
    if (next == PositionStore::kDead) {
      i = node.next;
    } else if (!step_names(then, path.back(), node.byte)) {
      for (; i < node.next; ++i) {
        if (nodes[i].token >= 0) clear_repeat(bits, nodes[i].token);
      }
    } else {
      if (node.token >= 0 && then.may_repeat()) clear_repeat(bits, node.token);
      i = then.in_other_string() || !then.has_names() ? node.next : i + 1;
      path.push_back(next);
      names.push_back(std::move(then));
    }
  }
}

void Matcher::make_mask(PositionId at, std::span<uint64_t> bits) {
  if (make_run_mask(at, bits)) {
    walk(at, vocabulary_->slices()[0].others, bits);
  } else if (const VocabularyTrie::Slice* slice = find_slice(at)) {
    std::ranges::copy(slice->mask, bits.begin());
    walk(at, slice->others, bits);
  } else {
    std::ranges::fill(bits, 0);
    walk(at, vocabulary_->nodes(), bits);
  }
  for (const auto& [first, twin] : vocabulary_->twins()) {
    if (has_bit(bits, first)) set_bit(bits, twin);
  }
  set_others(at, bits);
}

// Sets the bits of all plain tokens that may follow, if the grammar allows any text of up to some
// number of a set's characters. Returns false if it does not.
bool Matcher::make_run_mask(PositionId at, std::span<uint64_t> bits) {
  std::span<const PositionStore::Thread> threads = positions_.threads(at);
  if (threads.size() != 1 || vocabulary_->slices().empty()) return false;
  std::optional<Lexer::CharacterRun> run = grammar_->lexer().character_run(threads[0].state);
  if (!run) return false;
  std::shared_ptr<const MaskCache::Bits>& known = plain_[run->characters];
  if (known == nullptr) known = vocabulary_->plain_of(*run->characters);
  const VocabularyTrie::Bits& short_enough = vocabulary_->plain_up_to(run->most);
  for (size_t word = 0; word < bits.size(); ++word)
    bits[word] = (*known)[word] & short_enough[word];
  return true;
}

// Sets the bits of control tokens that may follow, and of tokens that end the text.
void Matcher::set_others(PositionId at, std::span<uint64_t> bits) const {
  if (positions_.may_end(at)) {
    for (int32_t token : vocabulary_->ends()) set_bit(bits, token);
  }
  for (Grammar::SymbolId control : positions_.controls(at)) {
    for (int32_t token : grammar_->tokens(control)) {
      if (vocabulary_->has(token)) set_bit(bits, token);
    }
  }
}

const VocabularyTrie::Slice* Matcher::find_slice(PositionId at) {
  if (!positions_.takes_text(at)) return nullptr;
  std::span<const VocabularyTrie::Slice> slices = vocabulary_->slices();
  for (size_t i = 0; i < slices.size(); ++i) {
    if (takes_slice(at, i)) return &slices[i];
  }
  for (const VocabularyTrie::Slice& slice : slices) {
    if (walks_slice(at, slice)) return &slice;
  }
  return nullptr;
}

// Returns whether the form of a terminal shows that all tokens of a slice may follow.
bool Matcher::takes_slice(PositionId at, size_t slice) {
  uint32_t longest = vocabulary_->slices()[slice].longest;
  return std::ranges::any_of(positions_.threads(at), [&](const PositionStore::Thread& thread) {
    return grammar_->lexer().takes_repeated(thread.state, slice_parts_[slice], longest);
  });
}

// Returns whether all tokens of a slice may follow, found by following all texts of its characters,
// which must lead to few different positions.
bool Matcher::walks_slice(PositionId from, const VocabularyTrie::Slice& slice) {
  std::vector<std::pair<PositionId, uint8_t>> pairs{{from, 0}};
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [at, state] = pairs[i];
    std::pair<PositionId, uint8_t> last{PositionStore::kDead, 0};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint8_t next_state = slice.automaton[state][byte];
      if (next_state == kNoState) continue;
      std::pair next(positions_.step(at, static_cast<uint8_t>(byte)), next_state);
      if (next.first == PositionStore::kDead) return false;
      if (next == last) continue;
      last = next;
      if (std::ranges::find(pairs, next) == pairs.end()) pairs.push_back(next);
      if (pairs.size() > kMaxPairs) return false;
    }
  }
  return true;
}

void Matcher::walk(PositionId from, std::span<const VocabularyTrie::Node> nodes,
                   std::span<uint64_t> bits) {
  if (!positions_.takes_text(from)) return;
  std::array<PositionId, VocabularyTrie::kLongestToken + 1> path;
  path[0] = from;
  for (size_t i = 0; i < nodes.size();) {
    const VocabularyTrie::Node& node = nodes[i];
    PositionId next = positions_.step(path[node.depth], node.byte);
    if (next == PositionStore::kDead) {
      i = node.next;
      continue;
    }
    path[node.depth + 1u] = next;
    if (node.token >= 0) set_bit(bits, node.token);
    ++i;
  }
}

}  // namespace hearth
