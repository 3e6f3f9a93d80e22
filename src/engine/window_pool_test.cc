#include "engine/window_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "engine/test_pages.h"

namespace hearth {
namespace {

class Windows : public testing::Test {
 protected:
  void start(uint32_t window, uint32_t pages, uint32_t window_pages) {
    memory_ = FakePages(pages);
    window_memory_ = FakePages(window_pages, KvKind::kWindow);
    pool_ = std::make_unique<KvPool>(pages, memory_.copier());
    windows_ = std::make_unique<WindowPool>(window, window_pages, pages, window_memory_.copier());
    pool_->set_on_evict([this](uint32_t page) { windows_->leave(page); });
  }
  std::unique_ptr<Sequence> sequence() {
    return std::make_unique<Sequence>(*pool_, SequenceForms{}, nullptr, windows_.get());
  }
  PageCounts available() const { return {pool_->available(), windows_->available()}; }
  // Computes a step, if there is room for it. Returns whether there was.
  bool compute(Sequence& sequence, std::span<const int32_t> tokens, bool publishes = true) {
    if (!sequence.pages_needed(static_cast<uint32_t>(tokens.size())).fit(available())) return false;
    const uint32_t from = sequence.length();
    sequence.grow(tokens);
    // A row of the step sees all of its window.
    expect_window(sequence, first_window_page(windows_->window(), from), from);
    memory_.compute(sequence, from);
    window_memory_.compute(sequence, from);
    if (publishes) sequence.publish();
    sequence.give_back();
    return true;
  }
  // Expects that the sequence has the window of its length, with the positions before `end`.
  void expect_window(const Sequence& sequence, uint32_t first, uint32_t end) {
    ASSERT_LE(sequence.window_begin(), first);
    std::vector<int32_t> seen = window_memory_.seen_by(sequence, first * kPagePositions);
    const std::vector<int32_t>& tokens = sequence.tokens();
    for (uint32_t p = first * kPagePositions; p < end; ++p) {
      ASSERT_EQ(seen[p - first * kPagePositions], tokens[p]) << p;
    }
  }
  void expect_right(const Sequence& sequence) {
    ASSERT_EQ(sequence.window_pages().size(), sequence.pages().size());
    ASSERT_EQ(memory_.seen_by(sequence), sequence.tokens());
    const uint32_t length = sequence.length();
    expect_window(sequence, first_window_page(windows_->window(), length), length);
  }

  FakePages memory_{0}, window_memory_{0};
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<WindowPool> windows_;
};

// Few different tokens and repeated prompts. After any sharing, giving back, taking back and
// eviction every sequence sees its own tokens in its window, and no page is lost.
class RandomWindows : public Windows {
 protected:
  static constexpr uint32_t kPages = 60;

  void begin_one() {
    sequences_.push_back(sequence());
    Sequence& one = *sequences_.back();
    const uint32_t length = 1 + random_() % 600;
    if (random_() % 2 == 0) one.want_window((length - 1) / kPagePositions * kPagePositions);
    adopted_ += one.adopt_prefix(std::span(prompt_).first(length));
    ASSERT_LT(one.length(), length);
    expect_right(one);
    while (one.length() < length) {
      const uint32_t chunk = std::min<uint32_t>(length - one.length(), 1 + random_() % 150);
      if (!compute(one, std::span(prompt_).subspan(one.length(), chunk))) break;
    }
  }
  void cut(Sequence& one) {
    const uint32_t length = random_() % (one.length() + 1);
    one.truncate(length);
    ASSERT_LE(one.length(), length);
    (one.length() == length ? cut_there_ : cut_before_) += 1;
  }
  // Undoes a step that was not computed.
  void undo(Sequence& one) {
    const uint32_t before = one.length();
    const std::vector<int32_t> more = tokens_from(random_, 1 + random_() % 100);
    if (!one.pages_needed(static_cast<uint32_t>(more.size())).fit(available())) return;
    one.grow(more);
    one.undo_step(before);
    ASSERT_EQ(one.length(), before);
  }
  // Fills pages like passes, which write nothing before the window, or like passes that fail.
  void fill(Sequence& one) {
    const uint32_t before = one.length();
    const std::vector<int32_t> more = tokens_from(random_, 1 + random_() % 300);
    if (!one.pages_needed_by_passes(static_cast<uint32_t>(more.size())).fit(available())) return;
    one.grow_for_passes(more);
    memory_.compute(one, before);
    if (random_() % 4 == 0) {
      one.truncate(before / kPagePositions * kPagePositions);
      return;
    }
    const uint32_t first = windows_->first_held(one.length()) * kPagePositions;
    window_memory_.compute(one, std::max(before, first));
    one.finish_passes();
    one.publish();
    ++filled_;
  }
  void change_one() {
    const size_t i = random_() % sequences_.size();
    Sequence& one = *sequences_[i];
    switch (random_() % 6) {
      case 0:
        return cut(one);
      case 1:
        sequences_.erase(sequences_.begin() + static_cast<long>(i));
        return;
      case 2:
        if (sequences_.size() < 7) sequences_.push_back(one.fork());
        return;
      case 3:
        return undo(one);
      case 4:
        return fill(one);
      default:
        compute(one, tokens_from(random_, random_() % 100), random_() % 4 != 0);
    }
  }
  void expect_all_right() {
    std::set<uint32_t> held;
    for (const auto& one : sequences_) {
      expect_right(*one);
      ASSERT_LE(one->pages().size() - one->window_begin(), windows_->max_held(one->length()));
      held.insert(one->window_pages().begin() + one->window_begin(), one->window_pages().end());
    }
    ASSERT_EQ(held.size() + windows_->available(), windows_->page_count());
  }

  std::mt19937 random_{1};
  std::vector<int32_t> prompt_ = tokens_from(random_, 600);
  std::vector<std::unique_ptr<Sequence>> sequences_;
  uint64_t adopted_ = 0, cut_there_ = 0, cut_before_ = 0, filled_ = 0;
};

TEST_F(RandomWindows, SequencesSeeTheirOwnTokensWhateverIsGivenBack) {
  for (uint32_t window : {1u, 20u, 64u, 65u, 200u}) {
    const uint32_t window_pages = 7 * max_window_pages(window) + 4;
    start(window, kPages, window_pages);
    adopted_ = cut_there_ = cut_before_ = filled_ = 0;
    for (int round = 0; round < 3000; ++round) {
      if (sequences_.size() < 5 && random_() % 3 == 0) begin_one();
      if (!sequences_.empty()) change_one();
      if (!HasFatalFailure()) expect_all_right();
      if (HasFatalFailure()) FAIL() << "window " << window << " round " << round;
    }
    EXPECT_GT(adopted_, 1000u) << window;
    EXPECT_GT(cut_there_, 0u);
    EXPECT_GT(cut_before_, 0u);
    EXPECT_GT(filled_, 0u);
    EXPECT_GT(windows_->evictions(), 0u);
    sequences_.clear();
    EXPECT_EQ(available().full, kPages);
    EXPECT_EQ(available().window, window_pages);
  }
}

// A hit in the prefix cache needs all pages of the window. The window pages at the end of a text
// are kept, and no others if there is no room.
TEST_F(Windows, AHitIsWhereAllPagesOfTheWindowAreKept) {
  start(100, 40, 6);
  std::mt19937 random(1);
  const std::vector<int32_t> tokens = tokens_from(random, 1200);
  auto first = sequence();
  for (uint32_t at = 0; at < 1024; at += 64) {
    ASSERT_TRUE(compute(*first, std::span(tokens).subspan(at, 64)));
    EXPECT_LE(first->pages().size() - first->window_begin(), 3u);
  }
  first = nullptr;
  auto longer = sequence();
  EXPECT_EQ(longer->adopt_prefix(tokens), 1024u);
  expect_right(*longer);
  // A sequence that leaves its path where no window is kept begins at an earlier kept window.
  // Afterwards a window is kept where it left the path.
  std::vector<int32_t> other(tokens.begin(), tokens.begin() + 700);
  for (size_t i = 640; i < other.size(); ++i) other[i] = 5;
  auto second = sequence();
  const uint32_t hit = second->adopt_prefix(other);
  EXPECT_LT(hit, 640u);
  EXPECT_EQ(second->known(), 640u);
  longer = nullptr;
  for (uint32_t at = hit; at < other.size();) {
    const auto count = std::min<uint32_t>(64, static_cast<uint32_t>(other.size()) - at);
    ASSERT_TRUE(compute(*second, std::span(other).subspan(at, count)));
    at += count;
  }
  second = nullptr;
  for (size_t i = 640; i < other.size(); ++i) other[i] = 7;
  EXPECT_EQ(sequence()->adopt_prefix(other), 640u);
}

}  // namespace
}  // namespace hearth
