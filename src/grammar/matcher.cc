#include "grammar/matcher.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace hearth {
namespace {

// The limit on bytes of the positions that must be kept; while a mask is made, more are taken.
constexpr size_t kMaxNeededBytes = PositionStore::kMaxMemory / 4 * 3;

// Returns how much memory positions may take until the unneeded ones are freed next: halfway from
// `used` to the limit.
size_t half_way(size_t used) { return (used + PositionStore::kMaxMemory) / 2; }

// The number of last tokens for which the state of names is kept.
constexpr size_t kMaxNamedHistory = 4096;

}  // namespace

Matcher::Matcher(std::shared_ptr<const Grammar> grammar,
                 std::shared_ptr<const VocabularyTrie> vocabulary)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      positions_(*grammar_),
      at_(positions_.first()),
      collect_at_(half_way(0)) {
  for (const VocabularyTrie::Slice& slice : vocabulary_->slices()) {
    slice_parts_.push_back(
        grammar_->lexer().part([&](RegexSet& set) { return utf8_regex(set, slice.characters); }));
  }
}

PositionId Matcher::behind(PositionId from, int32_t token) {
  if (!vocabulary_->has(token)) return PositionStore::kDead;
  PositionId control = positions_.step_control(from, token);
  if (control != PositionStore::kDead) return control;
  switch (vocabulary_->role(token)) {
    case TokenRole::kText:
      return positions_.step(from, vocabulary_->bytes(token));
    case TokenRole::kEnd:
      return positions_.may_end(from) ? PositionStore::kEnded : PositionStore::kDead;
    default:
      return PositionStore::kDead;
  }
}

bool Matcher::accept(int32_t token) {
  free_memory();
  PositionId next = behind(token);
  if (next == PositionStore::kDead) return false;
  if (grammar_->names_once() != 0) {
    NameTracker names = names_;
    if (!step_names(names, at_, token) || must_repeat(names, next)) return false;
    if (history_.size() >= kMaxNamedHistory) forget(kMinHistory);
    name_history_.push_back(std::exchange(names_, std::move(names)));
  }
  if (grammar_->tagged()) note_tags(at_, token);
  history_.push_back(at_);
  at_ = next;
  return true;
}

// Forgets all of the history but the last `kept` tokens.
void Matcher::forget(size_t kept) {
  if (history_.size() <= kept) return;
  history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(kept));
  if (grammar_->names_once() == 0) return;
  name_history_.erase(name_history_.begin(),
                      name_history_.end() - static_cast<std::ptrdiff_t>(kept));
}

// Feeds the token's JSON to the tracker. Returns false where the token completes a name that the
// object already has.
bool Matcher::step_names(NameTracker& names, PositionId from, int32_t token) {
  const bool text =
      vocabulary_->role(token) == TokenRole::kText && positions_.control_tags(from, token) == 0;
  if (!text) {
    if (grammar_->tagged()) names = {};
    return true;
  }
  const std::string_view bytes = vocabulary_->bytes(token);
  if (!grammar_->tagged()) return names.step(bytes);
  for (const char byte : bytes) {
    if (!step_names(names, from, static_cast<uint8_t>(byte))) return false;
    from = positions_.step(from, static_cast<uint8_t>(byte));
  }
  return true;
}

bool Matcher::step_names(NameTracker& names, PositionId from, uint8_t byte) {
  if (grammar_->tagged() && (positions_.tags(from, byte) & grammar_->names_once()) == 0) {
    names = {};
    return true;
  }
  const char text = static_cast<char>(byte);
  return names.step({&text, 1});
}

// Returns whether the name that has begun, or must come next, can only repeat a name of its object.
// Searches the texts that may follow until one leaves the name, or has a beginning with which no
// name of the object begins.
bool Matcher::must_repeat(const NameTracker& names, PositionId at) {
  if (!grammar_->tight_names() || !names.may_repeat()) return false;
  std::vector<std::pair<PositionId, NameTracker>> todo{{at, names}};
  std::set<std::pair<PositionId, std::string>> seen;
  while (!todo.empty()) {
    const std::pair<PositionId, NameTracker> last = std::move(todo.back());
    const auto& [from, before] = last;
    todo.pop_back();
    // Byte values are tried in descending order, so that white space comes last.
    for (uint32_t value = 0; value < 256; ++value) {
      const auto byte = static_cast<uint8_t>(value);
      const PositionId next = positions_.step(from, byte);
      if (next == PositionStore::kDead) continue;
      NameTracker then = before;
      if (!step_names(then, from, byte)) continue;
      if (!then.may_repeat()) return false;
      if (seen.emplace(next, then.place_in_name()).second) todo.emplace_back(next, std::move(then));
    }
  }
  return true;
}

bool Matcher::repeats_name(const NameTracker& names, PositionId from, int32_t token) {
  if (grammar_->names_once() == 0) return false;
  NameTracker then = names;
  if (!step_names(then, from, token)) return true;
  return then.may_repeat() && must_repeat(then, behind(from, token));
}

void Matcher::note_tags(PositionId from, int32_t token) {
  tags_.clear();
  const uint32_t control = positions_.control_tags(from, token);
  was_control_ = control != 0;
  if (was_control_) {
    tags_.push_back(control);
  } else if (vocabulary_->role(token) == TokenRole::kText) {
    for (char c : vocabulary_->bytes(token)) {
      const auto byte = static_cast<uint8_t>(c);
      tags_.push_back(positions_.tags(from, byte));
      from = positions_.step(from, byte);
    }
  }
}

void Matcher::rollback(size_t tokens) {
  if (tokens > history_.size()) {
    fail(ErrorCode::kResource, "cannot take back {} tokens of a grammar's text, which has only {}",
         tokens, history_.size());
  }
  if (tokens == 0) return;
  at_ = history_[history_.size() - tokens];
  history_.resize(history_.size() - tokens);
  if (grammar_->names_once() == 0) return;
  names_ = name_history_[name_history_.size() - tokens];
  name_history_.resize(name_history_.size() - tokens);
}

size_t Matcher::validate(std::span<const int32_t> draft) {
  PositionId at = at_;
  NameTracker names = names_;
  for (size_t i = 0; i < draft.size(); ++i) {
    const PositionId next = behind(at, draft[i]);
    if (next == PositionStore::kDead) return i;
    if (grammar_->names_once() != 0 &&
        (!step_names(names, at, draft[i]) || must_repeat(names, next))) {
      return i;
    }
    at = next;
  }
  return draft.size();
}

std::string Matcher::forced() {
  std::string bytes;
  for (PositionId at = at_; bytes.size() < kMaxForcedBytes;) {
    std::optional<uint8_t> byte = positions_.forced(at);
    if (!byte) break;
    bytes += static_cast<char>(*byte);
    at = positions_.step(at, *byte);
  }
  return bytes;
}

size_t Matcher::settled(std::string_view forced) {
  PositionId end = positions_.step(at_, forced);
  size_t first = forced.size() - std::min(forced.size(), VocabularyTrie::kLongestToken);
  for (size_t begin = first; begin < forced.size(); ++begin) {
    if (may_cross(end, forced.substr(begin))) return begin;
  }
  return forced.size();
}

// Returns whether some token begins with `beginning` and has bytes behind it that may follow `end`.
bool Matcher::may_cross(PositionId end, std::string_view beginning) {
  std::span<const VocabularyTrie::Node> nodes = vocabulary_->nodes();
  size_t at = 0, limit = nodes.size();
  for (char c : beginning) {
    while (at < limit && nodes[at].byte != static_cast<uint8_t>(c)) at = nodes[at].next;
    if (at >= limit) return false;
    limit = nodes[at].next;
    ++at;
  }
  std::vector<PositionId> path{end};
  while (at < limit) {
    const VocabularyTrie::Node& node = nodes[at];
    path.resize(node.depth - beginning.size() + 1);
    PositionId next = positions_.step(path.back(), node.byte);
    if (next != PositionStore::kDead && node.token >= 0) return true;
    path.push_back(next);
    at = next == PositionStore::kDead ? node.next : at + 1;
  }
  return false;
}

// If positions take much memory, frees all but those of the last tokens.
void Matcher::free_memory() {
  if (positions_.memory() < collect_at_) return;
  forget(kMinHistory);
  history_.push_back(at_);
  positions_.collect(history_);
  at_ = history_.back();
  history_.pop_back();
  masks_.clear();
  if (positions_.memory() > kMaxNeededBytes) {
    fail(ErrorCode::kResource, "the grammar needs more than {} MiB for this text; simplify it",
         kMaxNeededBytes >> 20);
  }
  collect_at_ = half_way(positions_.memory());
}

size_t Matcher::memory() const {
  return positions_.memory() + masks_.memory() + history_.capacity() * sizeof(PositionId);
}

}  // namespace hearth
