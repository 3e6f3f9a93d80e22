#include "engine/state_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "engine/sequence.h"

namespace hearth {
namespace {

// A state of this test is all tokens that it was computed from.
using FakeState = std::vector<int32_t>;

// Sequences over pools, and steps over several of them as an engine does them: all are grown, then
// all states are read, then all are written.
class StateTest : public testing::Test {
 protected:
  static constexpr uint32_t kPages = 24;

  void start(uint32_t places, uint32_t max_kept) {
    memory_.assign(places + max_kept, {});
    states_ = std::make_unique<StatePool>(
        places, max_kept, kPages,
        [this](uint32_t from, uint32_t to) { memory_[to] = memory_[from]; });
    pages_ = std::make_unique<KvPool>(kPages, [](uint32_t, uint32_t) {});
    pages_->set_on_evict([this](uint32_t page) { states_->evict(page); });
  }
  std::unique_ptr<Sequence> sequence() {
    return std::make_unique<Sequence>(*pages_, SequenceForms{}, states_.get());
  }
  // Returns whether the pools have room for `count` more tokens.
  bool fits(const Sequence& sequence, uint32_t count) const {
    return (!sequence.needs_place() || states_->free_places() > 0) &&
           sequence.pages_needed(count).full <= pages_->available();
  }

  struct Part {
    Sequence* sequence;
    uint32_t before;
    StateMove move;
  };
  // Grows the sequence as StepEngine::grow() does.
  void grow(std::vector<Part>* parts, Sequence& sequence, std::span<const int32_t> tokens) {
    for (size_t i = 0; i < parts->size() && sequence.lacks_slot(); ++i) {
      Part& part = (*parts)[i];
      if (part.move.from == part.move.to || part.move.from == kNoSlot) continue;
      states_->copy(part.move.from, part.move.to);
      part.move.from = part.move.to;
      part.sequence->finish_step();
    }
    const uint32_t before = sequence.length();
    parts->push_back({&sequence, before, sequence.grow(tokens)});
  }
  void compute(const std::vector<Part>& parts) {
    std::set<uint32_t> written;
    for (const Part& part : parts) {
      const std::vector<int32_t>& tokens = part.sequence->tokens();
      const FakeState before(tokens.begin(), tokens.begin() + part.before);
      ASSERT_EQ(part.move.from == kNoSlot ? FakeState{} : memory_[part.move.from], before);
      ASSERT_TRUE(written.insert(part.move.to).second) << "two write a slot";
    }
    for (const Part& part : parts) {
      for (const Part& other : parts) {
        if (&part != &other) {
          ASSERT_NE(part.move.from, other.move.to) << "read and written";
        }
      }
      memory_[part.move.to] = part.sequence->tokens();
    }
  }
  void step(Sequence& sequence, const std::vector<int32_t>& tokens) {
    std::vector<Part> parts;
    grow(&parts, sequence, tokens);
    compute(parts);
    sequence.finish_step();
    sequence.publish();
  }
  void expect_all_accounted() const {
    EXPECT_EQ(states_->free_places(), states_->places());
    EXPECT_EQ(pages_->available(), kPages);
    uint32_t kept = 0;
    for (uint32_t page = 0; page < kPages; ++page) kept += states_->find(page) != kNoSlot;
    EXPECT_EQ(kept, states_->kept_count());
    EXPECT_LE(kept, states_->max_kept());
    std::vector<uint32_t> taken;
    while (states_->can_take()) taken.push_back(states_->take());
    EXPECT_EQ(taken.size(), states_->slots()) << "a slot is lost";
    for (uint32_t slot : taken) states_->release(slot);
  }

  std::vector<FakeState> memory_;
  std::unique_ptr<StatePool> states_;
  std::unique_ptr<KvPool> pages_;
};

std::vector<int32_t> counted(uint32_t count, int32_t from = 0) {
  std::vector<int32_t> tokens(count);
  for (uint32_t i = 0; i < count; ++i) tokens[i] = from + static_cast<int32_t>(i);
  return tokens;
}

TEST_F(StateTest, AHitIsTheDeepestPageWithAState) {
  start(2, 4);
  auto one = sequence();
  step(*one, counted(64));
  one->keep_state(true);
  step(*one, counted(64, 64));
  step(*one, counted(64, 128));
  auto two = sequence();
  EXPECT_EQ(two->adopt_prefix(counted(400)), 64u);
  EXPECT_EQ(two->known(), 192u) << "computed again from 64 on";
  EXPECT_EQ(two->slot(), states_->find(two->pages()[0]));
  step(*two, counted(64, 64));
  EXPECT_NE(two->slot(), states_->find(two->pages()[0])) << "it wrote another";
  EXPECT_EQ(two->pages()[1], one->pages()[1]) << "computed twice, there once";
  two->keep_state(true);
  one.reset();
  auto three = sequence();
  EXPECT_EQ(three->adopt_prefix(counted(129)), 128u);
  EXPECT_EQ(three->adopt_prefix(counted(400)), 0u);
  EXPECT_EQ(three->known(), 192u);
  two->truncate(127);
  EXPECT_EQ(two->length(), 64u);
  two->truncate(63);
  EXPECT_EQ(two->length(), 0u);
  EXPECT_EQ(states_->free_places(), 1u);
  two.reset();
  three.reset();
  EXPECT_EQ(states_->kept_count(), 2u);
  expect_all_accounted();
}

TEST_F(StateTest, EvictsPassingStatesFirstThenTheLeastRecentlyUsed) {
  start(1, 2);
  auto one = sequence();
  for (int32_t page = 0; page < 4; ++page) {
    step(*one, counted(64, 64 * page));
    one->keep_state(false);
    EXPECT_EQ(states_->kept_count(), 1u);
  }
  EXPECT_NE(states_->find(one->pages()[3]), kNoSlot);
  one.reset();
  auto other = sequence();
  step(*other, counted(64, 1000));
  other->keep_state(true);
  other.reset();
  EXPECT_EQ(states_->kept_count(), 2u);
  EXPECT_EQ(sequence()->adopt_prefix(counted(300)), 256u) << "it is used now";
  auto third = sequence();
  step(*third, counted(64, 2000));
  third->keep_state(true);
  third.reset();
  EXPECT_EQ(states_->evictions(), 1u);
  EXPECT_EQ(sequence()->adopt_prefix(counted(300)), 256u);
  EXPECT_EQ(sequence()->adopt_prefix(counted(100, 1000)), 0u);
  // Pages that are given to another holder lose their states.
  auto greedy = sequence();
  step(*greedy, counted(64 * kPages, 3000));
  EXPECT_EQ(states_->kept_count(), 0u);
  greedy.reset();
  expect_all_accounted();
}

TEST_F(StateTest, StatesGetThinnerBehindTheNewestAndStayWherePathsPart) {
  start(2, 20);
  auto one = sequence();
  for (int32_t page = 0; page < 17; ++page) {
    step(*one, counted(64, 64 * page));
    if (page == 2) {
      auto other = sequence();
      one->keep_state(true);
      EXPECT_EQ(other->adopt_prefix(counted(200)), 192u);
      step(*other, counted(64, 5000));
    }
    one->keep_state(true);
  }
  std::vector<uint32_t> kept;
  for (uint32_t page = 0; page < 17; ++page) {
    if (states_->find(one->pages()[page]) != kNoSlot) kept.push_back(16 - page);
  }
  EXPECT_EQ(std::set<uint32_t>(kept.begin(), kept.end()).size(), kept.size());
  EXPECT_EQ(std::ranges::count(kept, 14u), 1) << "paths part there";
  EXPECT_EQ(std::ranges::count(kept, 0u), 1);
  EXPECT_EQ(std::ranges::count(kept, 1u), 1);
  EXPECT_LE(kept.size(), 7u);
  one.reset();
  expect_all_accounted();
}

// A fork reads the same slot as the other sequence, and copies only if slots are short.
TEST_F(StateTest, ForksShareAStateUntilTheyGoOn) {
  for (uint32_t kept : {0u, 1u}) {
    start(2, kept);
    auto one = sequence();
    step(*one, counted(70));
    auto two = one->fork();
    EXPECT_EQ(two->slot(), one->slot());
    EXPECT_EQ(one->fork()->length(), 0u) << "no place is left";
    std::vector<Part> parts;
    grow(&parts, *one, counted(3, 70));
    grow(&parts, *two, counted(2, 900));
    EXPECT_EQ(parts[0].move.from == parts[0].move.to, kept == 0) << "it has a copy";
    compute(parts);
    one->undo_step(70);
    two->finish_step();
    EXPECT_EQ(one->length(), kept == 0 ? 0u : 70u) << "what it read is there still";
    EXPECT_EQ(two->length(), 72u);
    one.reset();
    two.reset();
    expect_all_accounted();
  }
}

// Random turns of some sequences.
class Turns {
 public:
  explicit Turns(uint32_t seed) : random(seed) {}

  bool one_in(uint32_t n) { return random() % n == 0; }
  std::vector<int32_t> bits(uint32_t count) {
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 2);
    return tokens;
  }
  // Returns the next tokens of a sequence: often those of a prompt, up to the end of a page.
  std::vector<int32_t> next(const std::vector<int32_t>& prompt, uint32_t at) {
    const uint32_t count = one_in(3) ? 1 + random() % 100 : kPagePositions - at % kPagePositions;
    std::vector<int32_t> tokens = bits(count);
    if (at + count <= prompt.size() && !one_in(8)) {
      std::copy_n(prompt.begin() + at, count, tokens.begin());
    }
    return tokens;
  }

  std::mt19937 random;
  uint64_t adopted = 0, undone = 0, forks = 0, evictions = 0;
};

bool begins(const std::vector<int32_t>& prompt, const std::vector<int32_t>& tokens) {
  return tokens.size() < prompt.size() && std::equal(tokens.begin(), tokens.end(), prompt.begin());
}

void end_turn(const std::vector<std::pair<Sequence*, uint32_t>>& parts, Turns* turns) {
  const bool undone = turns->one_in(6);
  for (auto [sequence, before] : parts) {
    if (undone) {
      sequence->undo_step(before);
      ++turns->undone;
    } else {
      sequence->finish_step();
    }
  }
  for (auto [sequence, before] : parts) {
    if (undone) break;
    sequence->publish();
    if (!turns->one_in(3)) sequence->keep_state(turns->one_in(2));
  }
}

void cut_fork_or_end(std::vector<std::unique_ptr<Sequence>>* sequences, Turns* turns) {
  const size_t which = turns->random() % sequences->size();
  Sequence& one = *(*sequences)[which];
  const uint32_t kind = turns->random() % 6;
  if (kind == 0) one.truncate(turns->random() % (one.length() + 1));
  if (kind == 1) {
    sequences->push_back(one.fork());
    turns->forks += sequences->back()->length() > 0;
  }
  if (kind == 2) sequences->erase(sequences->begin() + static_cast<long>(which));
}

// Every sequence reads the state of its own tokens, after any forks, cuts, adoptions, keeping and
// undoing, and when slots are short.
TEST_F(StateTest, EveryoneReadsItsOwnStateWhateverIsShared) {
  Turns turns(4);
  for (int round = 0; round < 40; ++round) {
    start(1 + turns.random() % 5, turns.random() % 5);
    const std::vector<int32_t> prompt = turns.bits(400);
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (int turn = 0; turn < 300; ++turn) {
      if (sequences.size() < 8 && turns.one_in(3)) sequences.push_back(sequence());
      std::vector<Part> parts;
      for (auto& one : sequences) {
        if (begins(prompt, one->tokens()) && turns.one_in(2)) {
          turns.adopted += one->adopt_prefix(prompt);
        }
      }
      for (auto& one : sequences) {
        const std::vector<int32_t> tokens = turns.next(prompt, one->length());
        if (turns.one_in(2) || !fits(*one, static_cast<uint32_t>(tokens.size()))) continue;
        grow(&parts, *one, tokens);
      }
      compute(parts);
      if (HasFatalFailure()) FAIL() << "round " << round << " turn " << turn;
      std::vector<std::pair<Sequence*, uint32_t>> grown;
      for (const Part& part : parts) grown.emplace_back(part.sequence, part.before);
      end_turn(grown, &turns);
      if (!sequences.empty()) cut_fork_or_end(&sequences, &turns);
      for (auto& one : sequences) {
        if (one->length() > 0) {
          ASSERT_EQ(memory_[one->slot()], one->tokens());
        }
      }
    }
    sequences.clear();
    turns.evictions += states_->evictions();
    expect_all_accounted();
  }
  EXPECT_GT(turns.adopted, 0u);
  EXPECT_GT(turns.undone, 0u);
  EXPECT_GT(turns.forks, 0u);
  EXPECT_GT(turns.evictions, 0u);
}

}  // namespace
}  // namespace hearth
