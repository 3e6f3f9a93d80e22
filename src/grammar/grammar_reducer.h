// GrammarReducer removes a builder's symbols that no text can complete or that the start symbol
// does not lead to, and writes the rest as the tables of a Grammar.
#pragma once

#include <memory>
#include <vector>

#include "grammar/grammar_builder.h"

namespace hearth {

class GrammarReducer {
 public:
  // `builder` cannot be used after build().
  GrammarReducer(GrammarBuilder& builder, Symbol start) : builder_(builder), start_(start) {}

  std::shared_ptr<const Grammar> build();

 private:
  using Info = GrammarBuilder::SymbolInfo;
  using Kind = GrammarBuilder::Kind;
  struct Alternative {
    uint32_t lhs;
    std::vector<Symbol> symbols;
  };

  void find_alternatives();
  std::vector<bool> close(std::vector<bool> holds) const;
  std::vector<bool> find_reached() const;
  void find_productive();
  void settle_list(Info& info) const;
  void find_nullable();
  void number_symbols();
  void visit(Symbol symbol, std::vector<Symbol>* waiting);
  void write_rule(Grammar& grammar, const Info& info, uint32_t lhs) const;
  void write_list(Grammar& grammar, const Info& info, uint32_t lhs) const;
  void write_starts(Grammar& grammar) const;
  uint32_t number(Symbol symbol) const { return numbers_[symbol.id]; }
  uint32_t tag_bit(Symbol symbol) const { return uint32_t{1} << builder_.symbols_[symbol.id].tag; }

  GrammarBuilder& builder_;
  Symbol start_;
  std::vector<Alternative> alternatives_;
  std::vector<bool> productive_, nullable_;
  std::vector<uint32_t> numbers_;  // the grammar's numbers, by builder's symbol; kNoId: removed
  std::vector<Symbol> terminals_, controls_, rules_;
};

}  // namespace hearth
