// Tests a scheduler beside passes in virtual time, with arrivals, cancels and faults of many seeds.
// Each seed always gives the same run. Every request ends once, with the text of the cores, and no
// page is lost.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/error.h"
#include "failing_accelerator.h"
#include "hybrid/pass_time.h"
#include "scheduler_fixture.h"

namespace hearth {
namespace {

constexpr double kStepSeconds = 1e-3;
constexpr uint32_t kThreshold = 20;

// A pass takes as long as about ten steps.
MeasuredAccelerator described() {
  const auto exactly = [](double value) { return Spread{value, value, value}; };
  MeasuredAccelerator gpu;
  gpu.facts = {.name = "a GPU",
               .driver = "",
               .api = "",
               .allocation_bytes = uint64_t{1} << 34,
               .import_alignment = 4096,
               .queues = {{.computes = true}, {.computes = false}},
               .arithmetic = "",
               .lacks = {}};
  gpu.rates.write = gpu.rates.read = gpu.rates.memory = {1, exactly(1e9)};
  gpu.rates.import_to = gpu.rates.import_from = TransferRate{1, exactly(1e7)};
  gpu.rates.submission_nanoseconds = exactly(1000);
  gpu.rates.products = {{PackKind::kF32, 1, 256, exactly(1e8)}};
  return gpu;
}

// Runs passes when their time has come, on the scheduler's thread. The pages of a lost pass are
// overwritten again and again, as by a device that never stops.
class ClockedStreamer : public PromptStreamer {
 public:
  // `fault` is the fault of each accelerator that it makes.
  ClockedStreamer(const PassTarget& target, const PassTime& time, uint64_t seed, const Fault& fault)
      : target_(target), time_(time), seed_(seed), fault_(fault) {}

  bool takes(uint32_t tokens, uint32_t before, double) override {
    return tokens >= kThreshold && tokens <= kPlan.rows &&
           pages_for(before + tokens) <= kPlan.pages;
  }
  void begin(Prompt prompt) override { prompts_.push_back({std::move(prompt)}); }
  void cancel(uint64_t id) override {
    for (One& one : prompts_) one.cancelled = one.cancelled || one.prompt.id == id;
  }
  std::vector<Done> take_done() override { return std::exchange(done_, {}); }

  bool idle() const { return prompts_.empty() && done_.empty(); }
  // Returns the pages that were lost with a pass. They may never be used again.
  const std::set<uint32_t>& lost_pages() const { return lost_pages_; }
  // Advances the clock by a step's seconds; if `waits`, on to the end of the pass under way.
  void go_on(double seconds, bool waits) {
    now_ += seconds;
    if (ends_ == 0 && !prompts_.empty()) form();
    if (ends_ > 0 && waits) now_ = std::max(now_, ends_);
    if (ends_ > 0 && now_ >= ends_) run();
    for (const uint32_t page : torn_pages_) tear(page);
  }

 private:
  static constexpr StreamPlan kPlan{.rows = 96, .pages = 40, .kept = 0, .berths = 2};
  struct One {
    Prompt prompt;
    bool cancelled = false;
  };
  class Watch : public PassWatch {
   public:
    explicit Watch(ClockedStreamer& of) : of_(of), gone_(of.taken_) {}
    bool wanted(size_t text) override { return !of_.prompts_[text].cancelled; }
    void let_go(size_t text) override {
      of_.done_.push_back({of_.prompts_[text].prompt.id, Outcome::kLetGo});
      gone_[text] = true;
    }
    bool gone(size_t text) const { return gone_[text]; }

   private:
    ClockedStreamer& of_;
    std::vector<bool> gone_;
  };

  // Forms a pass of the first prompts, as many as its rows have room for.
  void form() {
    uint32_t rows = 0;
    for (taken_ = 0; taken_ < prompts_.size(); ++taken_) {
      const auto more = static_cast<uint32_t>(prompts_[taken_].prompt.tokens.size());
      if (rows + more > kPlan.rows) break;
      rows += more;
    }
    ends_ = now_ + time_.seconds(rows);
  }
  void run() {
    if (!pass_) {
      const auto gpu =
          std::make_shared<FailingAccelerator>(VirtualOptions{.seed = ++seed_, .queues = 2});
      pass_ = std::make_unique<PrefillPass>(target_, gpu, kPlan);
      gpu->arm(fault_);
    }
    std::vector<PassText> texts;
    for (size_t i = 0; i < taken_; ++i) {
      const Prompt& prompt = prompts_[i].prompt;
      texts.push_back({prompt.tokens, prompt.first_position, prompt.pages});
    }
    Watch watch(*this);
    Outcome outcome = Outcome::kFilled;
    try {
      pass_->run(texts, watch);
    } catch (const Error&) {
      EXPECT_EQ(pass_->ended(), !fault_.loses());
      outcome = pass_->ended() ? Outcome::kFailed : Outcome::kLost;
      pass_.reset();
    }
    for (size_t i = 0; i < taken_; ++i) {
      if (watch.gone(i)) continue;
      done_.push_back({prompts_[i].prompt.id, outcome});
      if (outcome == Outcome::kLost) lose(prompts_[i].prompt);
    }
    prompts_.erase(prompts_.begin(), prompts_.begin() + static_cast<std::ptrdiff_t>(taken_));
    ends_ = 0;
  }

  void lose(const Prompt& prompt) {
    const auto first = static_cast<std::ptrdiff_t>(prompt.first_position / kPagePositions);
    lost_pages_.insert(prompt.pages.begin(), prompt.pages.end());
    torn_pages_.insert(prompt.pages.begin() + first, prompt.pages.end());
  }
  void tear(uint32_t page) {
    for (uint32_t s = 0; s < target_.model->weights().shard_count(); ++s) {
      for (uint32_t layer = 0; layer < target_.model->spec().layers.size(); ++layer) {
        std::memset(target_.kv->page(s, layer, page, 0).k, 0xff, target_.kv->page_bytes(s, layer));
      }
    }
  }

  const PassTarget target_;
  const PassTime& time_;
  uint64_t seed_;
  const Fault fault_;
  std::set<uint32_t> lost_pages_, torn_pages_;
  std::unique_ptr<PrefillPass> pass_;
  std::vector<One> prompts_;
  size_t taken_ = 0;  // how many of these prompts the pass under way has
  std::vector<Done> done_;
  double now_ = 0, ends_ = 0;  // ends_: end of the pass under way; 0: there is none
};

class SchedulerClockTest : public SchedulerTest {
 protected:
  static constexpr size_t kTexts = 24, kAsked = 5;
  struct Coming {
    size_t text;
    uint32_t step;       // the step at which it comes
    uint32_t cancelled;  // the step at which it is cancelled; 0: never
  };
  struct Under {
    Asked asked;
    Coming coming;
    std::vector<int32_t> tokens = {};
    uint32_t ends = 0;
    bool failed = false;
  };

  static EngineOptions options() {
    EngineOptions options = small();
    options.kv_pages = 8;
    return options;
  }
  void make_texts() {
    for (size_t i = 0; i < kTexts; ++i) {
      texts_.push_back(text(1 + static_cast<uint32_t>(random_() % 95),
                            1 + static_cast<uint32_t>(random_() % 3)));
      texts_.back().sampling.seed = i;
      const Asked asked = ask(texts_.back());
      run();
      expected_.push_back(tokens_of(read(asked)));
    }
  }
  std::array<Coming, kAsked> draw(std::mt19937& random) const {
    std::array<Coming, kAsked> all;
    for (Coming& one : all) {
      one = {random() % kTexts, static_cast<uint32_t>(random() % 12), 0};
      if (random() % 4 == 0) one.cancelled = one.step + 1 + random() % 8;
    }
    return all;
  }
  static Fault draw_fault(std::mt19937& random) {
    if (random() % 3 != 0) return {};
    constexpr std::array kKinds = {FaultKind::kSubmit, FaultKind::kStopped, FaultKind::kLost,
                                   FaultKind::kTimeout};
    return {kKinds[random() % kKinds.size()], static_cast<uint32_t>(1 + random() % 12)};
  }
  void run_seed(uint32_t seed, const PassTime& time) {
    std::mt19937 random(seed);
    const std::array<Coming, kAsked> all = draw(random);
    ClockedStreamer streamer(engine_->pass_target(), time, seed, draw_fault(random));
    SchedulerOptions scheduling;
    scheduling.streamer = &streamer;
    scheduler_ = std::make_unique<Scheduler>(*engine_, nullptr, scheduling, statistics_);
    std::vector<Under> under;
    size_t ended = 0;
    for (uint32_t step = 0; ended < kAsked || !streamer.idle(); ++step) {
      ASSERT_LT(step, 1000U);
      for (const Coming& one : all) {
        if (one.step == step) under.push_back({ask(texts_[one.text]), one});
      }
      for (Under& one : under) {
        if (one.coming.cancelled == step && step > 0) one.asked.job->cancel();
      }
      const bool did = scheduler_->step();
      streamer.go_on(kStepSeconds, !did);
      for (Under& one : under) ended += take(&one);
    }
    for (const Under& one : under) {
      EXPECT_EQ(one.ends, 1U);
      if (one.coming.cancelled != 0) continue;
      if (one.failed) {
        const Request& text = texts_[one.coming.text];
        const auto length = static_cast<uint32_t>(text.prompt.size()) + text.max_tokens;
        EXPECT_GT(pages_for(length) + streamer.lost_pages().size(), engine_->pool().page_count());
      } else {
        EXPECT_EQ(one.tokens, expected_[one.coming.text]);
      }
    }
    scheduler_->step();
    const uint32_t all_pages = engine_->pool().page_count();
    EXPECT_EQ(engine_->pool().available() + streamer.lost_pages().size(), all_pages);
    losing_seeds_ += streamer.lost_pages().empty() ? 0 : 1;
    scheduler_.reset();
    EXPECT_EQ(engine_->pool().available(), all_pages);
  }
  // Takes the results of a request; returns how many of them were the last of a choice.
  size_t take(Under* one) {
    size_t ends = 0;
    for (const Result& result : read(one->asked)) {
      if (result.has_token()) one->tokens.push_back(result.token);
      ends += result.finish ? 1 : 0;
      one->failed = result.finish == Finish::kFailed;
    }
    one->ends += static_cast<uint32_t>(ends);
    return ends;
  }

  std::vector<Request> texts_;
  std::vector<std::vector<int32_t>> expected_;
  uint32_t losing_seeds_ = 0;
};

TEST_F(SchedulerClockTest, ManySeedsOfArrivalsCancelsAndFaults) {
  start(options());
  make_texts();
  const StreamPlan plan{.rows = 96, .pages = 40, .kept = 0, .berths = 2};
  const PassTime time(engine_->pass_target(), described(), plan);
  EXPECT_GT(time.seconds(96), 2 * kStepSeconds);
  for (uint32_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run_seed(seed, time);
  }
  EXPECT_GT(statistics_.streamed_prompts, 500U);
  EXPECT_GT(statistics_.unstreamed_prompts, 50U);
  EXPECT_GT(losing_seeds_, 30U);
}

}  // namespace
}  // namespace hearth
