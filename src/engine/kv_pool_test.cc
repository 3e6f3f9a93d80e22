#include "engine/kv_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "engine/sequence.h"
#include "engine/test_pages.h"

namespace hearth {
namespace {

// Few different tokens and repeated prompts, so that prefixes are found, shared, copied, evicted
// and found again. Every sequence must see its own tokens, and no page may be lost.
TEST(KvPool, SequencesSeeTheirOwnTokensWhateverIsShared) {
  constexpr uint32_t kPages = 40;
  std::mt19937 random(3);
  FakePages memory(kPages);
  KvPool pool(kPages, memory.copier());
  std::vector<int32_t> prompt = tokens_from(random, 400);
  std::vector<std::unique_ptr<Sequence>> sequences;
  uint64_t adopted = 0, copies = 0, forks = 0;
  auto grow = [&](Sequence& sequence, std::span<const int32_t> tokens) {
    auto count = static_cast<uint32_t>(tokens.size());
    if (sequence.pages_needed(count).full > pool.available()) return;
    uint32_t from = sequence.length(), last = from == 0 ? 0 : sequence.pages().back();
    if (from % kPagePositions != 0 && count > 0) copies += !pool.is_private(last);
    sequence.grow(tokens);
    memory.compute(sequence, from);
    if (random() % 4 != 0) sequence.publish();
  };
  for (int round = 0; round < 6000; ++round) {
    if (sequences.size() < 6 && random() % 3 == 0) {
      sequences.push_back(std::make_unique<Sequence>(pool));
      uint32_t length = 1 + random() % 400;
      adopted += sequences.back()->adopt_prefix(std::span(prompt).first(length));
      uint32_t have = sequences.back()->length();
      ASSERT_LT(have, length);
      grow(*sequences.back(), std::span(prompt).first(length).subspan(have));
    }
    if (sequences.empty()) continue;
    size_t i = random() % sequences.size();
    Sequence& sequence = *sequences[i];
    switch (random() % 5) {
      case 0:
        sequence.truncate(random() % (sequence.length() + 1));
        break;
      case 1:
        sequences.erase(sequences.begin() + static_cast<long>(i));
        break;
      case 2:
        if (sequences.size() < 8) {
          sequences.push_back(sequence.fork());
          ++forks;
        }
        break;
      default:
        grow(sequence, tokens_from(random, random() % 100));
    }
    std::set<uint32_t> held;
    for (const auto& s : sequences) {
      ASSERT_EQ(s->pages().size(), pages_for(s->length()));
      ASSERT_EQ(memory.seen_by(*s), s->tokens());
      held.insert(s->pages().begin(), s->pages().end());
    }
    ASSERT_EQ(held.size() + pool.available(), kPages);
  }
  EXPECT_GT(adopted, 1000u);
  EXPECT_GT(copies, 100u);
  EXPECT_GT(forks, 100u);
  EXPECT_GT(pool.evictions(), 100u);
  sequences.clear();
  EXPECT_EQ(pool.available(), kPages);
  std::set<uint32_t> taken;
  for (uint32_t page = 0; page < kPages; ++page) taken.insert(pool.take());
  EXPECT_EQ(taken.size(), kPages);
  EXPECT_EQ(pool.unused_count(), 0u);
  EXPECT_EQ(pool.available(), 0u);
}

class PrefixTest : public testing::Test {
 protected:
  void compute(Sequence& sequence, const std::vector<int32_t>& tokens) {
    uint32_t from = sequence.length();
    sequence.grow(tokens);
    memory_.compute(sequence, from);
    sequence.publish();
  }
  std::vector<int32_t> tokens(uint32_t count, int32_t start = 0) {
    std::vector<int32_t> all(count);
    for (uint32_t i = 0; i < count; ++i) all[i] = start + static_cast<int32_t>(i);
    return all;
  }

  FakePages memory_{8};
  KvPool pool_{8, memory_.copier()};
};

TEST_F(PrefixTest, WholePagesOfTheLongestPrefixAreTaken) {
  {
    Sequence first(pool_);
    compute(first, tokens(200));
  }
  EXPECT_EQ(pool_.unused_count(), 3u) << "200 tokens fill three pages";
  Sequence longer(pool_), shorter(pool_), whole(pool_), other(pool_);
  EXPECT_EQ(longer.adopt_prefix(tokens(300)), 192u);
  EXPECT_EQ(shorter.adopt_prefix(tokens(150)), 128u);
  EXPECT_EQ(whole.adopt_prefix(tokens(192)), 128u) << "the last token is left to compute";
  EXPECT_EQ(other.adopt_prefix(tokens(300, 1)), 0u);
  EXPECT_EQ(pool_.available(), 5u);
}

// A page is found only by sequences with as many expanded positions in it and in the pages before
// it.
TEST_F(PrefixTest, PagesOfOtherFormsAreOthers) {
  {
    Sequence first(pool_, {.expanded = 96});
    compute(first, tokens(200));
    EXPECT_EQ(first.pages().size(), 4u);
  }
  Sequence same(pool_, {.expanded = 96}), longer(pool_, {.expanded = 128}),
      shorter(pool_, {.expanded = 64}), none(pool_);
  EXPECT_EQ(longer.adopt_prefix(tokens(200)), 64u);
  EXPECT_EQ(shorter.adopt_prefix(tokens(200)), 64u);
  EXPECT_EQ(none.adopt_prefix(tokens(200)), 0u);
  EXPECT_EQ(same.adopt_prefix(tokens(200)), 192u);
  same.truncate(64);
  compute(shorter, tokens(136, 64));
  const std::unique_ptr<Sequence> again = same.fork();
  EXPECT_EQ(again->adopt_prefix(tokens(200)), 128u);
  EXPECT_EQ(again->pages()[0], shorter.pages()[0]);
  EXPECT_NE(again->pages()[1], shorter.pages()[1]);
}

// Pages that an accelerator made have another form. The cores compute pages that it can no longer
// make, and other sequences find those.
TEST_F(PrefixTest, PagesOfOtherMakersAreOthers) {
  {
    Sequence first(pool_, {.streamed = 128});
    compute(first, tokens(200));
  }
  Sequence same(pool_, {.streamed = 128}), shorter(pool_, {.streamed = 64}), cores(pool_),
      longer(pool_, {.streamed = 192});
  EXPECT_EQ(cores.adopt_prefix(tokens(200)), 0u);
  EXPECT_EQ(shorter.adopt_prefix(tokens(200)), 64u);
  EXPECT_EQ(longer.adopt_prefix(tokens(200)), 128u);
  EXPECT_TRUE(longer.must_stream());
  longer.leave_to_cores();
  EXPECT_FALSE(longer.must_stream());
  EXPECT_EQ(longer.adopt_prefix(tokens(200)), 64u) << "the third page is of the cores";
  EXPECT_EQ(same.adopt_prefix(tokens(200)), 192u);
  EXPECT_EQ(same.fork()->streamed(), 128u);
}

TEST_F(PrefixTest, EvictsTheLeastRecentlyUsedPagesAndKeepsThoseInUse) {
  Sequence kept(pool_);
  compute(kept, tokens(128));
  {
    Sequence old(pool_);
    compute(old, tokens(128, 1000));
  }
  {
    Sequence young(pool_);
    compute(young, tokens(128, 2000));
  }
  Sequence greedy(pool_);
  compute(greedy, tokens(192, 3000));
  Sequence a(pool_), b(pool_), c(pool_);
  EXPECT_EQ(a.adopt_prefix(tokens(200, 1000)), 64u) << "its second page was evicted";
  EXPECT_EQ(b.adopt_prefix(tokens(200, 2000)), 128u);
  EXPECT_EQ(c.adopt_prefix(tokens(200)), 128u);
  EXPECT_EQ(pool_.available(), 0u);
}

TEST_F(PrefixTest, TheSamePrefixComputedTwiceIsKeptOnce) {
  Sequence a(pool_), b(pool_);
  std::vector<int32_t> same = tokens(130);
  a.grow(same);
  b.grow(same);
  memory_.compute(a, 0);
  memory_.compute(b, 0);
  a.publish();
  b.publish();
  EXPECT_EQ(a.pages()[0], b.pages()[0]);
  EXPECT_EQ(a.pages()[1], b.pages()[1]);
  EXPECT_NE(a.pages()[2], b.pages()[2]);
  EXPECT_EQ(pool_.available(), 4u);
}

TEST_F(PrefixTest, AForkWritesToACopy) {
  Sequence a(pool_);
  compute(a, tokens(70));
  std::unique_ptr<Sequence> b = a.fork();
  EXPECT_EQ(pool_.available(), 6u);
  EXPECT_EQ(b->pages_needed(1).full, 1u);
  compute(*b, {7});
  compute(a, {9});
  EXPECT_EQ(a.pages()[0], b->pages()[0]);
  EXPECT_NE(a.pages()[1], b->pages()[1]);
  EXPECT_EQ(memory_.seen_by(a), a.tokens());
  EXPECT_EQ(memory_.seen_by(*b), b->tokens());
}

TEST_F(PrefixTest, ACutSequenceLeavesTheFiledPageAsItWas) {
  Sequence a(pool_);
  compute(a, tokens(64));
  a.truncate(10);
  compute(a, {5, 5});
  Sequence b(pool_);
  EXPECT_EQ(b.adopt_prefix(tokens(65)), 64u);
  EXPECT_EQ(memory_.seen_by(b), tokens(64));
}

}  // namespace
}  // namespace hearth
