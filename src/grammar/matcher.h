// Matcher: where a text that is being generated stands in a grammar, and which tokens may follow.
//
//   Matcher matcher(grammar, VocabularyTrie::of(tokenizer));
//   matcher.mask(bits);                       // all tokens that may follow, a bit each
//   if (matcher.allows(token)) matcher.accept(token);
//
// Exact: a token may follow if and only if some text of the grammar goes on with it, and what was
// accepted up to a place where may_end() is a text of the grammar. A token that ends a generation
// may follow where may_end(), and nothing follows it. A token of text that a grammar also names as
// a control token is taken for that where it may be.
//
// One matcher serves one thread at a time; a copy goes on independently of the original, and costs
// what the original knows, at most 16 MiB.
//
// Errors: those of PositionStore (kResource), behind which the matcher is of no more use; and only
// those: a token outside of the vocabulary is one that may not follow.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/mask_cache.h"
#include "grammar/name_tracker.h"
#include "grammar/position_store.h"
#include "grammar/vocabulary_trie.h"

namespace hearth {

class Matcher {
 public:
  static constexpr size_t kLeastHistory = 256;  // tokens that can always be taken back

  Matcher(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const VocabularyTrie> vocabulary);

  bool allows(int32_t token) {
    return behind(token) != PositionStore::kDead && !repeats_name(names_, at_, token);
  }
  // Returns false, and stays where it is, where the token may not follow.
  bool accept(int32_t token);
  // Takes the last `tokens` back: those that were accepted, at most history() of them.
  void rollback(size_t tokens);
  size_t history() const { return history_.size(); }
  // How many of these tokens, one after another, could be accepted.
  size_t validate(std::span<const int32_t> draft);

  // Sets the bit of every token that may follow and clears the others. `bits` has
  // VocabularyTrie::mask_words() words or more; what is beyond the vocabulary is cleared.
  void mask(std::span<uint64_t> bits);

  // The bytes that must follow, up to kMostForced: empty where there is a choice or an end.
  static constexpr size_t kMostForced = 256;
  std::string forced();
  // How many bytes of forced() lie before every token that may begin in them and end behind them.
  // Tokens that end within so many are settled, whatever follows.
  size_t settled(std::string_view forced);

  // Return the tags of the last accepted token, where the grammar is tagged: those of each byte, or
  // those of a control token as a whole. Where a byte has several, what follows tells which one it
  // was.
  std::span<const uint32_t> tags() const { return tags_; }
  bool was_control() const { return was_control_; }

  // Whether the text may end here, whether nothing else may follow, and whether it has.
  bool may_end() const { return positions_.may_end(at_); }
  bool must_end() const {
    return may_end() && !positions_.takes_text(at_) && positions_.controls(at_).empty();
  }
  bool ended() const { return at_ == PositionStore::kEnded; }

  const Grammar& grammar() const { return *grammar_; }
  const VocabularyTrie& vocabulary() const { return *vocabulary_; }
  size_t memory() const;  // bytes, of this matcher alone

 private:
  PositionId behind(int32_t token) { return behind(at_, token); }
  PositionId behind(PositionId from, int32_t token);
  void make_mask(PositionId at, std::span<uint64_t> bits);
  bool make_run_mask(PositionId at, std::span<uint64_t> bits);
  const VocabularyTrie::Slice* find_slice(PositionId at);
  bool takes_slice(PositionId at, size_t slice);
  bool walks_slice(PositionId at, const VocabularyTrie::Slice& slice);
  void walk(PositionId from, std::span<const VocabularyTrie::Node> nodes, std::span<uint64_t> bits);
  bool may_cross(PositionId end, std::string_view beginning);
  void set_others(PositionId at, std::span<uint64_t> bits) const;
  void free_memory();
  void forget(size_t kept);
  bool step_names(NameTracker& names, PositionId from, int32_t token);
  bool step_names(NameTracker& names, PositionId from, uint8_t byte);
  bool repeats_name(const NameTracker& names, PositionId from, int32_t token);
  bool must_repeat(const NameTracker& names, PositionId at);
  void clear_repeats(std::span<uint64_t> bits);
  void clear_repeat(std::span<uint64_t> bits, int32_t token);
  void walk_repeats(std::span<uint64_t> bits);
  void note_tags(PositionId from, int32_t token);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const VocabularyTrie> vocabulary_;
  PositionStore positions_;
  PositionId at_;
  std::vector<PositionId> history_;  // where it stood before each token
  NameTracker names_;                // of a grammar that says names once
  std::vector<NameTracker> name_history_;
  std::vector<uint32_t> tags_;
  bool was_control_ = false;
  std::vector<RegexId> slice_parts_;  // a character of each slice, in the lexer's numbers
  MaskCache masks_;
  // Plain tokens by their characters: those asked for.
  std::map<const CharacterAutomaton*, std::shared_ptr<const MaskCache::Bits>> plain_;
  size_t collect_at_;  // bytes of positions
};

}  // namespace hearth
