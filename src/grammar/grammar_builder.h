// GrammarBuilder makes a Grammar of rules over terminals. A terminal is a regular expression over
// bytes or a set of control tokens. Rules may be recursive in every way and ambiguous.
//
//   GrammarBuilder builder;
//   RegexSet& set = builder.regexes();
//   Symbol number = builder.terminal(parse_pattern(set, "[0-9]+", {.search = false}));
//   Symbol comma = builder.terminal(set.literal(","));
//   Symbol list = builder.rule("list");
//   builder.add(list, {builder.repeated(number, comma, 1, kNoLimit)});
//   std::shared_ptr<const Grammar> grammar = builder.build(list);
//
// Errors (kRequest): a grammar that accepts no text at all; one of more than 2 million symbols;
// those of RegexSet.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/regex_set.h"

namespace hearth {

// A symbol of rules, by its number in the builder.
struct Symbol {
  uint32_t id = kNoId;
  bool operator==(const Symbol&) const = default;
};

inline constexpr Symbol kNoSymbol{};

class GrammarBuilder {
 public:
  RegexSet& regexes() { return regexes_; }

  // Sets the tag, below Grammar::kMaxTags and 0 at first, of symbols that are added from now on.
  // The matcher tells which tags the bytes and control tokens of a text have (Matcher::tags()).
  void set_tag(uint8_t tag) { tag_ = tag; }
  uint8_t tag() const { return tag_; }

  // Returns the terminal of a regular expression; equal ones with the same tag have one terminal.
  Symbol terminal(RegexId regex);
  // Adds a symbol that matches one of these tokens. Text never matches it, however it is spelled.
  Symbol control(std::span<const int32_t> token_ids);
  // Adds a rule without alternatives, which matches nothing until add() gives it some. The name is
  // only for people: rules may have equal names.
  Symbol rule(std::string_view name);
  // Adds an alternative of a rule; an empty one matches the empty text.
  void add(Symbol lhs, std::span<const Symbol> rhs);
  void add(Symbol lhs, std::initializer_list<Symbol> rhs) { add(lhs, std::span(rhs)); }
  // Adds a symbol for `least` to `most` items with separators between them; kNoSymbol: none. A
  // counter counts the items, so that the bounds change no cost, and the time for a list is
  // proportional to its length.
  Symbol repeated(Symbol item, Symbol separator, uint64_t least, uint64_t most);
  Symbol repeated(Symbol item, uint64_t least, uint64_t most) {
    return repeated(item, kNoSymbol, least, most);
  }

  // Declares that symbols with one of these tags (a bit each) are JSON in which no object may have
  // a name twice.
  void say_names_once(uint32_t tags = 1) { names_once_ = tags; }

  // Makes the matcher look ahead in names, since some beginnings may lead only to names that the
  // object has already.
  void note_tight_names() { tight_names_ = true; }

  // Builds the grammar without the symbols that no text can complete, so that every beginning of a
  // text can be completed. The builder cannot be used afterwards.
  std::shared_ptr<const Grammar> build(Symbol start);

 private:
  friend class GrammarReducer;

  enum class Kind : uint8_t { kTerminal, kControl, kRule, kRepeated };
  struct SymbolInfo {
    Kind kind;
    uint8_t tag = 0;                              // kTerminal, kControl
    RegexId regex = 0;                            // kTerminal
    std::vector<int32_t> tokens = {};             // kControl, ascending
    std::string name = {};                        // kRule
    std::vector<std::vector<Symbol>> rules = {};  // kRule
    Symbol item = {}, separator = {};             // kRepeated
    uint64_t least = 0, most = 0;                 // kRepeated
  };

  Symbol add_symbol(SymbolInfo info);

  RegexSet regexes_;
  std::vector<SymbolInfo> symbols_;
  std::map<std::pair<RegexId, uint8_t>, uint32_t> terminals_;  // by expression and tag
  size_t size_ = 0;                                            // symbols in rules
  uint8_t tag_ = 0;
  uint32_t names_once_ = 0;
  bool tight_names_ = false;
};

}  // namespace hearth
