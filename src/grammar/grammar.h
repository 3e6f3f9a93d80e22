// Grammar: what texts may look like, as tables for a Matcher. Made by GrammarBuilder and by what
// stands above it; immutable for all who use it, and shared by any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grammar/lexer.h"
#include "grammar/regex_set.h"

namespace hearth {

class Grammar {
 public:
  // Symbols are numbered: terminals first (as the lexer has them), then sets of control tokens,
  // then rules.
  using SymbolId = uint32_t;

  // A place in an alternative of a rule, or in a list that is counted.
  struct Dot {
    SymbolId next = kNoId;  // what is expected here; kNoId: the alternative ends
    SymbolId lhs = 0;       // whose alternative it is
    uint32_t list = kNoId;  // the number of the list
    bool last = false;      // nothing stands behind `next`
  };
  // A list of items: three dots from `dot` on, where an item is expected, where a separator is, and
  // the end.
  struct List {
    uint32_t dot = 0;
    bool separated = false;
    bool fills_up = false;  // items may be empty and nothing is between them: only others count
    uint64_t least = 0, most = 0;
  };
  // A dot at which a rule may begin, beginnings that may be empty left out, and how many items of a
  // list were those.
  struct Start {
    uint32_t dot;
    uint32_t count;
  };

  const Dot& dot(uint32_t number) const { return dots_[number]; }
  const List& list(uint32_t number) const { return lists_[number]; }
  bool is_terminal(SymbolId symbol) const { return symbol < terminals_; }
  bool is_control(SymbolId symbol) const { return symbol >= terminals_ && symbol < first_rule_; }
  bool is_rule(SymbolId symbol) const { return symbol >= first_rule_; }
  bool nullable(SymbolId symbol) const { return nullable_[symbol]; }
  // The control tokens of a symbol, ascending.
  std::span<const int32_t> tokens(SymbolId control) const {
    return controls_[control - terminals_];
  }
  // Returns the places where `symbol` may be the first one of a rule.
  std::span<const Start> starts(SymbolId symbol) const { return starts_[symbol]; }
  // Returns the symbols that a rule may begin with.
  std::span<const SymbolId> firsts(SymbolId rule) const { return firsts_[rule - first_rule_]; }

  uint32_t first_dot() const { return 0; }  // before the start symbol
  SymbolId top() const { return top_; }     // whose one alternative is the start symbol

  Lexer& lexer() const { return *lexer_; }
  // The roles of symbols, for those who made the grammar, as bits of a set:
  // GrammarBuilder::set_tag().
  static constexpr uint8_t kMostTags = 32;
  bool tagged() const { return tagged_; }  // there are other tags than 0
  uint32_t control_tag(SymbolId control) const { return control_tags_[control - terminals_]; }
  // The tags of JSON in which no object may have a name twice.
  uint32_t names_once() const { return names_once_; }
  bool tight_names() const { return tight_names_; }  // GrammarBuilder::note_tight_names()
  uint32_t symbols() const { return static_cast<uint32_t>(nullable_.size()); }
  size_t memory() const;  // bytes, the lexer's with them

 private:
  friend class GrammarReducer;
  Grammar() = default;

  std::vector<Dot> dots_;
  std::vector<List> lists_;
  std::vector<std::vector<int32_t>> controls_;
  std::vector<uint32_t> control_tags_;
  std::vector<bool> nullable_;
  std::vector<std::vector<Start>> starts_;
  std::vector<std::vector<SymbolId>> firsts_;
  uint32_t terminals_ = 0, first_rule_ = 0;
  SymbolId top_ = 0;
  uint32_t names_once_ = 0;
  bool tagged_ = false, tight_names_ = false;
  std::unique_ptr<Lexer> lexer_;
};

}  // namespace hearth
