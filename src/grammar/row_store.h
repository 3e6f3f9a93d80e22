// RowStore: the item sets of an Earley parser ("rows"): what the grammar expects at a place of a
// text. Rows with the same items are one row, even in different texts. So a list of 100,000 items,
// or a right recursion of that depth, has only a few rows. After two places with the same row, the
// same texts may follow.
//
// An item is an alternative that was begun: its dot, the rule that it completes, and the row in
// which that rule was expected. Where only one item waits for a rule, and ends with it, an item
// that would complete the rule completes the waiting item's rule instead (Leo's optimisation of
// right recursion). Symbols that may be empty are passed over when they are expected, so a
// completed rule has always begun in an earlier row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/id_table.h"

namespace hearth {

using RowId = uint32_t;

class RowStore {
 public:
  // A symbol that ends at a place, and the row in which it began.
  struct Scan {
    RowId row;
    Grammar::SymbolId symbol;
  };

  explicit RowStore(const Grammar& grammar);

  static constexpr RowId kFirst = 0;

  // Returns the row after these symbols; each must be expected in the row in which it began.
  RowId advance(std::span<const Scan> scans);

  // Returns whether a text may end here.
  bool accepts(RowId row) const { return rows_[row].accepts; }
  // Returns the lexer's state at the beginning of the terminals that are expected here.
  Lexer::StateId state(RowId row) const { return predictions_[rows_[row].prediction].state; }
  std::span<const Grammar::SymbolId> controls(RowId row) const {
    return predictions_[rows_[row].prediction].controls;
  }

  // Keeps the rows of `keep` and those that they refer to, renumbered: row i becomes result[i].
  std::vector<RowId> keep_only(std::vector<bool> keep);

  uint32_t rows() const { return static_cast<uint32_t>(rows_.size()); }
  size_t memory() const;

 private:
  struct Item {
    uint32_t dot;
    Grammar::SymbolId lhs;
    RowId origin;
    uint32_t count;  // items that a counted list has so far
    auto operator<=>(const Item&) const = default;
  };
  struct Row {
    uint32_t items, size;  // in items_
    uint32_t prediction;
    bool accepts;
  };
  // The symbols that a row's items expect, and the symbols with which these may begin.
  struct Prediction {
    std::vector<Grammar::SymbolId> expected;  // all ascending
    std::vector<Grammar::SymbolId> rules, controls;
    Lexer::StateId state = Lexer::kDead;
  };
  struct Waiting {
    RowId row;
    Grammar::SymbolId symbol;
    uint32_t items, size;  // in waiting_items_
  };

  RowId make();
  RowId intern(std::span<const Item> items, bool accepts);
  void place(Item item);
  void complete(Grammar::SymbolId lhs, RowId origin);
  void push_advanced(const Item& item);
  Item shortened(Item item);
  Waiting waiting(RowId row, Grammar::SymbolId symbol);
  uint32_t predict(std::span<const Item> items);
  Prediction make_prediction(std::vector<Grammar::SymbolId> expected) const;

  const Grammar* grammar_;
  std::vector<Row> rows_;
  std::vector<Item> items_;
  std::vector<Prediction> predictions_;
  std::vector<Waiting> waiting_;
  std::vector<Item> waiting_items_;
  IdTable row_table_, prediction_table_, waiting_table_;

  // Working memory for the row that is being made.
  std::vector<Item> work_, kernel_;
  IdTable kernel_table_;
  std::vector<std::pair<Grammar::SymbolId, RowId>> completed_;
  IdTable completed_table_;
  bool accepts_ = false;
};

}  // namespace hearth
