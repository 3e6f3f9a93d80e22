// Lexer: the terminals of a grammar as one deterministic automaton, whose states are made when a
// text first needs them. A state holds, for each terminal that may still match, the expression that
// the rest of the text must match. Thread-safe; steps that were made before take no lock.
//
// Errors: more than kMaxStates states (kResource); those of RegexSet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grammar/character_automaton.h"
#include "grammar/id_table.h"
#include "grammar/regex_set.h"

namespace hearth {

class Lexer {
 public:
  using StateId = uint32_t;
  static constexpr StateId kDead = 0;  // no terminal matches any more
  static constexpr uint32_t kMaxStates = 65'536;
  // No text of up to this many bytes distinguishes a state from clamped() of that state.
  static constexpr uint32_t kClamp = 512;

  // `tags` has a set of tags for each terminal.
  Lexer(RegexSet regexes, std::vector<RegexId> terminals, std::vector<uint32_t> tags);
  ~Lexer();
  Lexer(const Lexer&) = delete;
  Lexer& operator=(const Lexer&) = delete;

  // Returns the state in which these terminals, ascending, begin.
  StateId start(std::span<const uint32_t> terminals);
  StateId next(StateId state, uint8_t byte) {
    uint32_t found = at(state).next[class_of_[byte]].load(std::memory_order_acquire);
    return found != kNoId ? found : make_next(state, byte);
  }
  // Returns the terminals that match the text read so far, ascending.
  std::span<const uint32_t> accepted(StateId state) const { return at(state).accepted; }
  // Returns the tags of all terminals that may begin with the text read so far.
  uint32_t tags(StateId state) const { return at(state).tags; }
  // Returns whether no byte may follow.
  bool at_end(StateId state) const { return at(state).at_end; }
  // Returns the state with counters cut to as much as kClamp bytes can distinguish.
  StateId clamped(StateId state);
  // Returns whether any text of up to `times` repetitions of `part`, an expression of part(), may
  // follow, as far as the form shows: false is no proof.
  bool takes_repeated(StateId state, RegexId part, uint64_t times);
  // A state in which only one terminal can go on: with up to `most` characters of a set and then
  // something that does not begin with a plain character (plain_characters()). `characters` matches
  // the plain ones of the set.
  struct CharacterRun {
    const CharacterAutomaton* characters;  // lives as long as the lexer
    uint64_t most;
  };
  std::optional<CharacterRun> character_run(StateId state);
  // Returns the lexer's number of an expression that `make` makes in its RegexSet.
  template <typename Make>
  RegexId part(Make make) {
    std::lock_guard lock(mutex_);
    return make(regexes_);
  }

  uint32_t classes() const { return classes_; }
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  uint32_t states() const { return count_.load(std::memory_order_relaxed); }
  size_t memory() const;

 private:
  using Entry = std::pair<uint32_t, RegexId>;  // a terminal, and the expression of what must follow
  struct State {
    std::vector<Entry> entries;
    std::vector<uint32_t> accepted;
    bool at_end = true;
    uint32_t tags = 0;
    std::atomic<StateId> clamped{kNoId};
    std::unique_ptr<std::atomic<StateId>[]> next;  // by class of bytes
  };
  struct KnownRun {
    RegexId part, rest;
    std::optional<CharacterAutomaton> characters;  // none where the state is no run of characters
  };
  static constexpr uint32_t kChunk = 256;

  State& at(StateId state) const { return chunks_[state / kChunk][state % kChunk]; }
  StateId intern(std::vector<Entry> entries);
  StateId make_next(StateId state, uint8_t byte);
  std::optional<CharacterAutomaton> characters_of(RegexId part, RegexId rest);

  mutable std::mutex mutex_;
  RegexSet regexes_;
  std::vector<RegexId> terminals_;
  std::vector<uint32_t> tags_;  // by terminal
  std::array<uint8_t, 256> class_of_{};
  std::vector<uint8_t> representatives_;  // one byte of each class
  uint32_t classes_ = 0;
  std::array<std::unique_ptr<State[]>, kMaxStates / kChunk> chunks_;
  std::atomic<uint32_t> count_{0};
  IdTable table_;
  std::deque<KnownRun> runs_;
};

}  // namespace hearth
