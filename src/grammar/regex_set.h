// RegexSet: regular expressions over bytes, as Brzozowski has them: with intersection, complement
// and counted repetition, and stepped by derivatives. Equal expressions have one number.
//
//   RegexSet set;
//   RegexId digits = set.repeat(set.bytes(byte_range('0', '9')), 1, kNoLimit);
//   RegexId rest = set.derive(digits, '7');   // what may follow a 7
//   bool whole = set.nullable(rest);          // whether it may end there
//
// A repetition is a counter and is never copied: r{m,n} becomes d(r) r{m-1,n-1}. Expressions are
// brought into a normal form as they are made, so few that mean the same have two numbers.
//
// Errors (kRequest): expressions that lie more than 1,000 deep in each other, more than 2 million
// of them, and questions that take more derivatives than limit_work() allows, 200,000 by
// default.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/id_table.h"

namespace hearth {

using RegexId = uint32_t;

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

class RegexSet;

// An automaton made elsewhere, used as a regular expression. A state's number determines which
// texts match from there. The machine must outlive the sets that use it.
class RegexMachine {
 public:
  virtual ~RegexMachine() = default;
  // Returns the expression of the texts that may follow `byte` in this state.
  virtual RegexId derive(RegexSet& set, uint64_t state, uint8_t byte) const = 0;
  virtual bool nullable(uint64_t state) const = 0;
  // Returns the bytes that the automaton distinguishes from all others and from each other.
  virtual ByteSet bytes() const = 0;
};

class RegexSet {
 public:
  RegexSet();

  RegexId nothing() const { return 0; }  // matches no text
  RegexId empty() const { return 1; }    // matches only the empty text
  RegexId everything() const { return 2; }
  RegexId bytes(const ByteSet& set);  // one byte of the set
  RegexId literal(std::string_view text);
  RegexId concat(std::span<const RegexId> parts);
  RegexId concat(std::initializer_list<RegexId> parts) { return concat(std::span(parts)); }
  RegexId any_of(std::span<const RegexId> parts);
  RegexId any_of(std::initializer_list<RegexId> parts) { return any_of(std::span(parts)); }
  RegexId all_of(std::span<const RegexId> parts);
  RegexId all_of(std::initializer_list<RegexId> parts) { return all_of(std::span(parts)); }
  RegexId complement(RegexId regex);
  // Matches `least` to `most` repetitions of `regex`; nothing() where least > most.
  RegexId repeat(RegexId regex, uint64_t least, uint64_t most);
  RegexId optional(RegexId regex) { return any_of({empty(), regex}); }
  RegexId machine(const RegexMachine& machine, uint64_t state);

  // Returns the derivative: the texts that may follow `byte` in texts that match.
  RegexId derive(RegexId regex, uint8_t byte);
  // Returns a superset of the bytes that matching texts may begin with.
  ByteSet firsts(RegexId regex) const;
  bool nullable(RegexId regex) const { return nodes_[regex].nullable; }
  bool matches(RegexId regex, std::string_view text);

  // Returns whether no text at all matches.
  bool is_nothing(RegexId regex);
  // Returns whether finitely many texts match, as far as the form shows: false is no proof.
  bool is_finite(RegexId regex) const { return nodes_[regex].finite; }
  // Returns whether at most the empty text matches.
  bool is_at_end(RegexId regex);
  bool contains(RegexId larger, RegexId smaller);
  bool disjoint(RegexId a, RegexId b);

  // Lets only texts of these bytes match from now on: a vocabulary cannot spell others.
  void restrict_to(const ByteSet& spellable);

  // Limits the derivatives that may be taken from here on to `steps`.
  void limit_work(uint64_t steps) { work_left_ = steps; }
  uint64_t work_left() const { return work_left_; }

  // Bytes that no expression distinguishes form one class. Expressions made of others by derive()
  // and the operations above need no new classes.
  uint32_t classes() const { return static_cast<uint32_t>(representatives_.size()); }
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  // Returns one byte of each class.
  std::span<const uint8_t> representatives() const { return representatives_; }
  struct Run {
    RegexId part, rest;
    uint64_t least, most;
    RegexId whole;
  };
  bool split_run(RegexId regex, Run* run) const;

  // Returns the expression with each counter at its beginning cut to at most `most`: no text of
  // fewer bytes distinguishes the two.
  RegexId clamp_counters(RegexId regex, uint64_t most);
  // Returns whether matching texts may begin with any text of up to `times` repetitions of `part`,
  // as far as the form shows: false is no proof.
  bool begins_with_repeated(RegexId regex, RegexId part, uint64_t times);

  size_t memory() const;  // bytes

 private:
  enum class Kind : uint8_t {
    kNothing,
    kEmpty,
    kEverything,
    kBytes,
    kLiteral,
    kConcat,
    kAnyOf,
    kAllOf,
    kNot,
    kRepeat,
    kMachine
  };
  enum class Live : uint8_t { kUnknown, kYes, kNo };

  struct Node {
    Kind kind = Kind::kNothing;
    bool nullable = false;
    bool plain = true;    // has neither intersection nor complement, so it matches something unless
                          // it is nothing()
    bool finite = false;  // finitely many texts match, as far as the form shows
    Live live = Live::kUnknown;
    uint32_t height = 0;
    // kBytes: a is the number of the set. kLiteral: a is its offset, b its size. kConcat: a is the
    // head, not a kConcat itself, b the rest. kAnyOf, kAllOf: a is the offset of the parts, b their
    // number. kNot, kRepeat: a is the part. kMachine: a is the number of the machine.
    uint32_t a = 0, b = 0;
    uint64_t least = 0, most = 0;  // kRepeat; kMachine: `least` is the state
  };
  struct Derivative {
    RegexId regex;
    uint8_t byte;
    RegexId result;
  };
  RegexId add(Node node);
  RegexId add_list(Kind kind, std::span<const RegexId> parts);
  uint64_t hash(const Node& node) const;
  bool same(const Node& a, const Node& b) const;
  std::span<const RegexId> parts(const Node& node) const {
    return std::span(lists_).subspan(node.a, node.b);
  }
  std::string_view text(const Node& literal) const {
    return std::string_view(literals_).substr(literal.a, literal.b);
  }
  uint32_t set_number(const ByteSet& set);
  void refine(const ByteSet& set);

  RegexId join(RegexId head, RegexId rest);
  RegexId join_one(RegexId head, RegexId rest);
  void flatten(Kind kind, std::span<const RegexId> parts, std::vector<RegexId>* out) const;
  void merge_bytes(Kind kind, std::vector<RegexId>* parts);
  void merge_runs(std::vector<RegexId>* parts);
  bool has_opposites(std::span<const RegexId> parts);
  bool surely_begins_otherwise(const Node& node, uint8_t byte) const;
  RegexId derive_node(RegexId regex, uint8_t byte);
  RegexId derive_concat(RegexId regex, uint8_t byte);
  RegexId derive_list(RegexId regex, uint8_t byte);
  bool surely_lives(RegexId regex) const;
  bool all_begin_with_repeated(RegexId regex, RegexId part);
  bool search_life(RegexId regex);
  uint32_t open_parts(RegexId regex) const;

  std::vector<Node> nodes_;
  std::vector<RegexId> lists_;
  std::string literals_;
  std::vector<ByteSet> sets_;
  std::vector<const RegexMachine*> machines_;
  IdTable node_table_, set_table_;
  std::vector<Derivative> derivatives_;
  IdTable derivative_table_;

  std::array<uint8_t, 256> class_of_{};
  std::vector<uint8_t> representatives_;
  ByteSet spellable_ = all_bytes();
  uint64_t work_left_ = 200'000;
};

}  // namespace hearth
