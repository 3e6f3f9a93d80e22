#include "grammar/position_store.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {
namespace {

// The most terminals that may have begun at a position; beyond it the grammar is refused as too
// ambiguous.
constexpr size_t kMaxThreads = 4096;

}  // namespace

PositionStore::PositionStore(const Grammar& grammar) : grammar_(&grammar), rows_(grammar) {
  positions_.push_back({0, 0, kNoId, kNoId});
  positions_.push_back({0, 0, kNoId, kNoId});
  std::vector<Thread> threads;
  first_ = enter(&threads, RowStore::kFirst);
}

PositionId PositionStore::step(PositionId from, std::string_view bytes) {
  for (char c : bytes) {
    from = step(from, static_cast<uint8_t>(c));
    if (from == kDead) break;
  }
  return from;
}

PositionId PositionStore::make_step(PositionId from, uint8_t byte) {
  Lexer& lexer = grammar_->lexer();
  std::vector<Thread> next, completed;
  for (uint32_t i = 0; i < positions_[from].count; ++i) {
    Thread thread = threads_[positions_[from].threads + i];
    thread.state = lexer.next(thread.state, byte);
    if (thread.state == Lexer::kDead) continue;
    if (!lexer.accepted(thread.state).empty()) completed.push_back(thread);
    if (!lexer.at_end(thread.state)) next.push_back(thread);
  }
  PositionId result = enter(&next, completed.empty() ? kNoId : row_behind(completed));
  if (positions_[from].edges == kNoId) {
    positions_[from].edges = static_cast<uint32_t>(edges_.size());
    edges_.resize(edges_.size() + lexer.classes(), kNoId);
  }
  edges_[positions_[from].edges + lexer.class_of(byte)] = result;
  return result;
}

// Returns the row that begins after these terminals end.
RowId PositionStore::row_behind(std::span<const Thread> completed) {
  uint64_t hash = mix_hash(mix_hash(4, completed[0].row), completed[0].state);
  if (completed.size() == 1) {
    uint32_t known = row_step_table_.find(hash, [&](uint32_t at) {
      return row_steps_[at].row == completed[0].row && row_steps_[at].state == completed[0].state;
    });
    if (known != kNoId) return row_steps_[known].next;
  }
  std::vector<RowStore::Scan> scans;
  for (const Thread& thread : completed) {
    for (uint32_t terminal : grammar_->lexer().accepted(thread.state)) {
      scans.push_back({thread.row, terminal});
    }
  }
  RowId next = rows_.advance(scans);
  if (completed.size() == 1) {
    row_step_table_.insert(hash, static_cast<uint32_t>(row_steps_.size()));
    row_steps_.push_back({completed[0].row, completed[0].state, next});
  }
  return next;
}

// Returns the position at which these terminals have begun; if row `here` is given, its terminals
// begin there, too.
PositionId PositionStore::enter(std::vector<Thread>* threads, RowId here) {
  if (here != kNoId && rows_.state(here) != Lexer::kDead) {
    threads->push_back({here, rows_.state(here)});
  }
  if (threads->size() > kMaxThreads) {
    fail(ErrorCode::kResource, "the grammar is too ambiguous for this text; simplify it");
  }
  std::ranges::sort(*threads);
  threads->erase(std::unique(threads->begin(), threads->end()), threads->end());
  return threads->empty() && here == kNoId ? kDead : intern(*threads, here);
}

PositionId PositionStore::intern(std::span<const Thread> threads, RowId here) {
  uint64_t hash = mix_hash(5, here);
  for (const Thread& thread : threads) hash = mix_hash(mix_hash(hash, thread.row), thread.state);
  uint32_t found = position_table_.find(hash, [&](uint32_t id) {
    return positions_[id].here == here && std::ranges::equal(this->threads(id), threads);
  });
  if (found != kNoId) return found;
  auto id = static_cast<PositionId>(positions_.size());
  if (id % 64 == 0) check_memory();
  positions_.push_back(
      {static_cast<uint32_t>(threads_.size()), static_cast<uint32_t>(threads.size()), here, kNoId});
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  position_table_.insert(hash, id);
  return id;
}

std::span<const Grammar::SymbolId> PositionStore::controls(PositionId at) const {
  if (positions_[at].here == kNoId) return {};
  return rows_.controls(positions_[at].here);
}

PositionId PositionStore::step_control(PositionId from, int32_t token) {
  std::vector<RowStore::Scan> scans;
  for (Grammar::SymbolId control : controls(from)) {
    if (std::ranges::binary_search(grammar_->tokens(control), token)) {
      scans.push_back({positions_[from].here, control});
    }
  }
  if (scans.empty()) return kDead;
  std::vector<Thread> threads;
  return enter(&threads, rows_.advance(scans));
}

uint32_t PositionStore::tags(PositionId from, uint8_t byte) {
  Lexer& lexer = grammar_->lexer();
  uint32_t found = 0;
  for (const Thread& thread : threads(from)) {
    const Lexer::StateId next = lexer.next(thread.state, byte);
    if (next != Lexer::kDead) found |= lexer.tags(next);
  }
  return found;
}

uint32_t PositionStore::control_tags(PositionId from, int32_t token) const {
  uint32_t found = 0;
  for (Grammar::SymbolId control : controls(from)) {
    if (std::ranges::binary_search(grammar_->tokens(control), token)) {
      found |= grammar_->control_tag(control);
    }
  }
  return found;
}

std::optional<uint8_t> PositionStore::forced(PositionId at) {
  if (may_end(at) || !controls(at).empty()) return std::nullopt;
  std::optional<uint8_t> only;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (step(at, static_cast<uint8_t>(byte)) == kDead) continue;
    if (only) return std::nullopt;
    only = static_cast<uint8_t>(byte);
  }
  return only;
}

PositionId PositionStore::clamped(PositionId at) {
  std::vector<Thread> threads;
  bool changed = false;
  for (uint32_t i = 0; i < positions_[at].count; ++i) {
    Thread thread = threads_[positions_[at].threads + i];
    Lexer::StateId state = grammar_->lexer().clamped(thread.state);
    changed = changed || state != thread.state;
    threads.push_back({thread.row, state});
  }
  if (!changed) return at;
  std::ranges::sort(threads);
  return intern(threads, positions_[at].here);
}

void PositionStore::collect(std::span<PositionId> keep) {
  std::vector<bool> kept_rows(rows_.rows());
  for (PositionId id : keep) {
    for (const Thread& thread : threads(id)) kept_rows[thread.row] = true;
    if (positions_[id].here != kNoId) kept_rows[positions_[id].here] = true;
  }
  std::vector<RowId> numbers = rows_.keep_only(std::move(kept_rows));
  std::vector<Position> positions = std::move(positions_);
  std::vector<Thread> threads = std::move(threads_);
  positions_.assign(positions.begin(), positions.begin() + 2);
  threads_.clear();
  edges_.clear();
  edges_.shrink_to_fit();
  row_steps_.clear();
  row_steps_.shrink_to_fit();
  position_table_ = {};
  row_step_table_ = {};
  for (PositionId& id : keep) {
    if (id <= kEnded) continue;
    const Position& old = positions[id];
    std::vector<Thread> own(threads.begin() + old.threads,
                            threads.begin() + old.threads + old.count);
    for (Thread& thread : own) thread.row = numbers[thread.row];
    std::ranges::sort(own);
    id = intern(own, old.here == kNoId ? kNoId : numbers[old.here]);
  }
  std::vector<Thread> none;
  first_ = enter(&none, RowStore::kFirst);
}

size_t PositionStore::memory() const {
  return rows_.memory() + positions_.capacity() * sizeof(Position) +
         threads_.capacity() * sizeof(Thread) + edges_.capacity() * sizeof(PositionId) +
         row_steps_.capacity() * sizeof(RowStep) + position_table_.bytes() +
         row_step_table_.bytes();
}

void PositionStore::check_memory() const {
  if (memory() <= kMaxMemory) return;
  fail(ErrorCode::kResource, "the grammar needs more than {} MiB for this text; simplify it",
       kMaxMemory >> 20);
}

}  // namespace hearth
