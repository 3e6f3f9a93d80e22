// PositionStore: the positions of texts in a grammar, stepped byte by byte. A position holds the
// terminals that have begun, in which rows, and how far each has come; where a terminal may end, a
// row begins. Equal positions have one number, and steps are remembered. Nearly all texts repeat
// positions; then a byte costs one look-up.
//
// Errors: those of Lexer and RowStore; more memory than kMaxMemory, which collect() may free
// (kResource).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/id_table.h"
#include "grammar/row_store.h"

namespace hearth {

using PositionId = uint32_t;

class PositionStore {
 public:
  static constexpr PositionId kDead = 0;   // no text of the grammar continues from here
  static constexpr PositionId kEnded = 1;  // after the token that ended the text
  static constexpr size_t kMaxMemory = size_t{16} << 20;

  // The terminals that began in one row, and the lexer's state of them.
  struct Thread {
    RowId row;
    Lexer::StateId state;
    auto operator<=>(const Thread&) const = default;
  };

  explicit PositionStore(const Grammar& grammar);

  PositionId first() const { return first_; }
  PositionId step(PositionId from, uint8_t byte) {
    uint32_t edges = positions_[from].edges;
    if (edges != kNoId) {
      PositionId next = edges_[edges + grammar_->lexer().class_of(byte)];
      if (next != kNoId) return next;
    }
    return make_step(from, byte);
  }
  PositionId step(PositionId from, std::string_view bytes);
  // Returns the position after a control token; kDead where it is not expected.
  PositionId step_control(PositionId from, int32_t token);
  // Return the tags of the terminals that match the byte, or of the symbols that match the control
  // token.
  uint32_t tags(PositionId from, uint8_t byte);
  uint32_t control_tags(PositionId from, int32_t token) const;

  bool may_end(PositionId at) const {
    return positions_[at].here != kNoId && rows_.accepts(positions_[at].here);
  }
  // Returns whether bytes may follow.
  bool takes_text(PositionId at) const { return positions_[at].count > 0; }
  // Returns the symbols of control tokens that may follow.
  std::span<const Grammar::SymbolId> controls(PositionId at) const;
  // Returns the byte that must follow, where there is only one.
  std::optional<uint8_t> forced(PositionId at);
  std::span<const Thread> threads(PositionId at) const {
    return std::span(threads_).subspan(positions_[at].threads, positions_[at].count);
  }
  // Returns the position with counters cut to small values; no token can distinguish it from `at`.
  PositionId clamped(PositionId at);

  // Frees the rows and positions that no position of `keep` needs, and renumbers those in `keep`.
  void collect(std::span<PositionId> keep);
  size_t memory() const;

 private:
  struct Position {
    uint32_t threads, count;  // in threads_, ascending
    RowId here;               // the row that begins here; kNoId: none
    uint32_t edges;           // index of its steps in edges_, by the lexer's classes
  };
  struct RowStep {
    RowId row;
    Lexer::StateId state;
    RowId next;
  };

  PositionId make_step(PositionId from, uint8_t byte);
  RowId row_behind(std::span<const Thread> completed);
  PositionId enter(std::vector<Thread>* threads, RowId here);
  PositionId intern(std::span<const Thread> threads, RowId here);
  void check_memory() const;

  const Grammar* grammar_;
  RowStore rows_;
  std::vector<Position> positions_;
  std::vector<Thread> threads_;
  std::vector<PositionId> edges_;
  std::vector<RowStep> row_steps_;
  IdTable position_table_, row_step_table_;
  PositionId first_;
};

}  // namespace hearth
