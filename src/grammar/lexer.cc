#include "grammar/lexer.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {
namespace {

// The most derivatives that one step may take.
constexpr uint64_t kMaxWork = 200'000;

}  // namespace

Lexer::Lexer(RegexSet regexes, std::vector<RegexId> terminals, std::vector<uint32_t> tags)
    : regexes_(std::move(regexes)), terminals_(std::move(terminals)), tags_(std::move(tags)) {
  classes_ = regexes_.classes();
  representatives_.assign(regexes_.representatives().begin(), regexes_.representatives().end());
  for (uint32_t byte = 0; byte < 256; ++byte) {
    class_of_[byte] = regexes_.class_of(static_cast<uint8_t>(byte));
  }
  intern({});
}

Lexer::~Lexer() = default;

// Returns the number of the state with these entries, ascending, all of which can still match.
Lexer::StateId Lexer::intern(std::vector<Entry> entries) {
  uint64_t hash = mix_hash(0, entries.size());
  for (const Entry& entry : entries) hash = mix_hash(mix_hash(hash, entry.first), entry.second);
  uint32_t found = table_.find(hash, [&](uint32_t id) { return at(id).entries == entries; });
  if (found != kNoId) return found;
  uint32_t id = count_.load(std::memory_order_relaxed);
  if (id == kMaxStates) {
    fail(ErrorCode::kResource,
         "the grammar needs more than {} states for this text; simplify its "
         "patterns and lengths",
         kMaxStates);
  }
  if (id % kChunk == 0) chunks_[id / kChunk] = std::make_unique<State[]>(kChunk);
  State& state = at(id);
  ByteSet firsts;
  for (const Entry& entry : entries) {
    firsts |= regexes_.firsts(entry.second);
    if (regexes_.nullable(entry.second)) state.accepted.push_back(entry.first);
    state.at_end = state.at_end && regexes_.is_at_end(entry.second);
    state.tags |= tags_[entry.first];
  }
  state.entries = std::move(entries);
  state.next = std::make_unique<std::atomic<StateId>[]>(classes_);
  for (uint32_t i = 0; i < classes_; ++i) {
    bool dead = state.at_end || !firsts.test(representatives_[i]);
    state.next[i].store(dead ? kDead : kNoId, std::memory_order_relaxed);
  }
  table_.insert(hash, id);
  count_.store(id + 1, std::memory_order_relaxed);
  return id;
}

Lexer::StateId Lexer::start(std::span<const uint32_t> terminals) {
  std::lock_guard lock(mutex_);
  regexes_.limit_work(kMaxWork);
  std::vector<Entry> entries;
  for (uint32_t terminal : terminals) entries.emplace_back(terminal, terminals_[terminal]);
  return intern(std::move(entries));
}

Lexer::StateId Lexer::make_next(StateId state, uint8_t byte) {
  std::lock_guard lock(mutex_);
  regexes_.limit_work(kMaxWork);
  std::vector<Entry> entries;
  for (const Entry& entry : at(state).entries) {
    RegexId rest = regexes_.derive(entry.second, byte);
    if (!regexes_.is_nothing(rest)) entries.emplace_back(entry.first, rest);
  }
  StateId next = entries.empty() ? kDead : intern(std::move(entries));
  at(state).next[class_of_[byte]].store(next, std::memory_order_release);
  return next;
}

Lexer::StateId Lexer::clamped(StateId state) {
  State& from = at(state);
  StateId found = from.clamped.load(std::memory_order_acquire);
  if (found != kNoId) return found;
  std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const Entry& entry : from.entries) {
    entries.emplace_back(entry.first, regexes_.clamp_counters(entry.second, kClamp));
  }
  found = intern(std::move(entries));
  from.clamped.store(found, std::memory_order_release);
  return found;
}

bool Lexer::takes_repeated(StateId state, RegexId part, uint64_t times) {
  std::lock_guard lock(mutex_);
  regexes_.limit_work(kMaxWork);
  return std::ranges::any_of(at(state).entries, [&](const Entry& entry) {
    return regexes_.begins_with_repeated(entry.second, part, times);
  });
}

std::optional<Lexer::CharacterRun> Lexer::character_run(StateId state) {
  std::lock_guard lock(mutex_);
  regexes_.limit_work(kMaxWork);
  const std::vector<Entry>& entries = at(state).entries;
  RegexSet::Run run;
  if (entries.size() != 1 || !regexes_.split_run(entries[0].second, &run)) return std::nullopt;
  auto known = std::ranges::find_if(runs_, [&](const KnownRun& other) {
    return other.part == run.part && other.rest == run.rest;
  });
  if (known == runs_.end()) {
    runs_.push_back({run.part, run.rest, characters_of(run.part, run.rest)});
    known = runs_.end() - 1;
  }
  if (!known->characters) return std::nullopt;
  return CharacterRun{&*known->characters, run.most};
}

// Returns the automaton of characters that `part` matches; none if `part` may continue after a
// plain character, or where `rest` may be empty or begin with a plain character.
std::optional<CharacterAutomaton> Lexer::characters_of(RegexId part, RegexId rest) {
  RegexId plain = utf8_regex(regexes_, plain_characters());
  RegexId begins = regexes_.concat({plain, regexes_.everything()});
  RegexId longer = regexes_.all_of({part, begins, regexes_.complement(plain)});
  if (regexes_.nullable(rest) || !regexes_.disjoint(rest, begins) || !regexes_.is_nothing(longer)) {
    return std::nullopt;
  }
  bool all = regexes_.contains(part, plain);
  return make_character_automaton(regexes_, all ? plain : regexes_.all_of({part, plain}));
}

size_t Lexer::memory() const {
  std::lock_guard lock(mutex_);
  return states() * (sizeof(State) + classes_ * sizeof(StateId) + 2 * sizeof(Entry)) +
         regexes_.memory() + table_.bytes();
}

}  // namespace hearth
