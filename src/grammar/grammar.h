// Grammar: the texts that a Matcher accepts, as tables. Made by GrammarBuilder and by the compilers
// above it; immutable and shared by any number of threads.
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
  // Symbols are numbered: terminals first (in the lexer's order), then sets of control tokens, then
  // rules.
  using SymbolId = uint32_t;

  // A place in an alternative of a rule (the dot of an Earley item), or in a counted list.
  struct Dot {
    SymbolId next = kNoId;  // the symbol expected here; kNoId: the alternative ends
    SymbolId lhs = 0;       // the rule of the alternative
    uint32_t list = kNoId;  // the number of the list, if the dot is in one
    bool last = false;      // `next` is the alternative's last symbol
  };
  // A counted list of items. It has three dots from `dot` on: where an item is expected, where a
  // separator is, and the end.
  struct List {
    uint32_t dot = 0;
    bool separated = false;
    bool fills_up = false;  // items may be empty, without separators: only others are counted
    uint64_t least = 0, most = 0;
  };
  // A dot of a rule before which all symbols may be empty, so that the symbol at the dot may be the
  // first. `count` is how many items of a list were passed over as empty.
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
  // Returns the control tokens of a symbol, ascending.
  std::span<const int32_t> tokens(SymbolId control) const {
    return controls_[control - terminals_];
  }
  // Returns the dots at which `symbol` may be the first one of a rule.
  std::span<const Start> starts(SymbolId symbol) const { return starts_[symbol]; }
  // Returns the symbols that a rule may begin with.
  std::span<const SymbolId> firsts(SymbolId rule) const { return firsts_[rule - first_rule_]; }

  uint32_t first_dot() const { return 0; }  // before the start symbol
  SymbolId top() const { return top_; }     // its one alternative is the start symbol

  Lexer& lexer() const { return *lexer_; }
  // Tags mark the roles of symbols for the code that made the grammar. A set of tags is kept as
  // bits: GrammarBuilder::set_tag().
  static constexpr uint8_t kMaxTags = 32;
  bool tagged() const { return tagged_; }  // there are other tags than 0
  uint32_t control_tag(SymbolId control) const { return control_tags_[control - terminals_]; }
  // Returns the tags of JSON in which no object may have a name twice.
  uint32_t names_once() const { return names_once_; }
  bool tight_names() const { return tight_names_; }  // GrammarBuilder::note_tight_names()
  uint32_t symbols() const { return static_cast<uint32_t>(nullable_.size()); }
  size_t memory() const;  // bytes, including the lexer's

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
