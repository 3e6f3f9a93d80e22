// Prompts that are streamed beside the steps, through the virtual accelerator: the texts are those
// of the cores alone, whoever is cancelled, preempted or fails, and no page is lost.
#include <atomic>
#include <chrono>
#include <mutex>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "hybrid/prefill_pass.h"
#include "scheduler_fixture.h"

namespace hearth {
namespace {

// Fails from its `last`th submission on; never where that is 0.
class FailingAccelerator : public VirtualAccelerator {
 public:
  FailingAccelerator(uint64_t seed, uint32_t last)
      : VirtualAccelerator(VirtualOptions{.seed = seed}), last_(last) {}
  void submit(const CommandList& list) override {
    if (last_ != 0 && ++submissions_ >= last_) fail(ErrorCode::kResource, "the device is lost");
    VirtualAccelerator::submit(list);
  }

 private:
  const uint32_t last_;
  uint32_t submissions_ = 0;
};

class SchedulerStreamTest : public SchedulerTest {
 protected:
  static EngineOptions with_scores(EngineOptions options) {
    options.outputs = 8;
    options.scored_rows = 8;
    return options;
  }
  // `last`: of the accelerators that are made, at which submission each fails; 0: none does.
  void start_streaming(EngineOptions options, uint32_t threshold, uint32_t last = 0) {
    engine_ = tiny_engine(file_, with_scores(options));
    const auto make = [this, last] {
      const StreamPlan plan{.rows = 96, .pages = 40, .kept = 0, .berths = 2};
      return std::make_unique<PrefillPass>(
          engine_->pass_target(), std::make_shared<FailingAccelerator>(++made_, last), plan);
    };
    streamer_ = std::make_unique<Streamer>(
        make, StreamerOptions{.threshold = threshold, .retry_seconds = 0, .on_done = [this] {
                                ++told_;
                                told_.notify_all();
                              }});
    SchedulerOptions scheduler;
    scheduler.streamer = streamer_.get();
    scheduler_ = std::make_unique<Scheduler>(*engine_, nullptr, scheduler, statistics_);
  }
  ~SchedulerStreamTest() override { streamer_.reset(); }

  // Steps until all has ended; `before_step(i)` is called before each.
  template <typename Act>
  void run_all(const Act& before_step) {
    for (int step = 0; ended_ < asked_.size(); ++step) {
      ASSERT_LT(step, 100000);
      const uint64_t told = told_;
      before_step(step);
      if (!scheduler_->step()) {
        collect();
        if (ended_ < asked_.size() && told == told_) told_.wait(told);
      }
      collect();
    }
  }
  void collect() {
    for (size_t i = 0; i < asked_.size(); ++i) {
      for (Result& result : read(asked_[i])) {
        if (result.finish) {
          EXPECT_FALSE(finish_[i]) << "a request ends once";
          finish_[i] = result.finish;
          ++ended_;
        }
        results_[i].push_back(std::move(result));
      }
    }
  }
  void ask_all(const std::vector<Request>& requests) {
    for (const Request& request : requests) asked_.push_back(ask(request));
    results_.resize(asked_.size());
    finish_.resize(asked_.size());
  }
  std::vector<Request> requests(size_t count, uint32_t longest) {
    std::vector<Request> all;
    for (size_t i = 0; i < count; ++i) {
      Request request = text(1 + static_cast<uint32_t>(random_() % longest),
                             1 + static_cast<uint32_t>(random_() % 8));
      request.sampling.seed = i;
      if (i % 5 == 4) request.prompt_logprobs = true;
      if (i % 7 == 6) {  // shares a beginning with another
        const std::vector<int32_t>& other = all[i - 1].prompt;
        const size_t shared = std::min(other.size(), request.prompt.size());
        std::copy_n(other.begin(), shared, request.prompt.begin());
      }
      all.push_back(std::move(request));
    }
    return all;
  }
  // What the cores alone give.
  std::vector<std::vector<int32_t>> by_cores(const EngineOptions& options,
                                             const std::vector<Request>& requests) {
    start(with_scores(options));
    std::vector<std::vector<int32_t>> tokens;
    for (const Request& request : requests) {
      const Asked asked = ask(request);
      run();
      tokens.push_back(tokens_of(read(asked)));
    }
    scheduler_.reset();
    return tokens;
  }
  void expect_all_pages() {
    scheduler_->step();
    EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  }

  std::unique_ptr<Streamer> streamer_;
  std::atomic<uint64_t> told_ = 0;
  std::atomic<uint64_t> made_ = 0;
  std::vector<Asked> asked_;
  std::vector<std::vector<Result>> results_;
  std::vector<std::optional<Finish>> finish_;
  size_t ended_ = 0;
};

TEST_F(SchedulerStreamTest, TextsAreThoseOfTheCores) {
  const std::vector<Request> all = requests(24, 400);
  const auto expected = by_cores(large(), all);
  start_streaming(large(), 64);
  ask_all(all);
  run_all([](int) {});
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  EXPECT_GT(statistics_.streamed_prompts, 0u);
  EXPECT_EQ(statistics_.unstreamed_prompts, 0u);
  expect_all_pages();
}

// A pool of a few contexts, so that sequences give up their pages while others are streamed.
TEST_F(SchedulerStreamTest, SurvivesCancelsAndShortMemory) {
  EngineOptions options = small();
  options.kv_pages = 7;
  const std::vector<Request> all = requests(40, 180);
  const auto expected = by_cores(options, all);
  start_streaming(options, 20);
  ask_all(all);
  std::mt19937 random(3);
  std::vector<bool> cancelled(all.size());
  run_all([&](int) {
    if (random() % 4 != 0) return;
    const size_t i = random() % all.size();
    if (i % 3 != 0) return;
    cancelled[i] = true;
    asked_[i].job->cancel();
  });
  for (size_t i = 0; i < all.size(); ++i) {
    if (cancelled[i]) continue;
    EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  }
  EXPECT_GT(statistics_.streamed_prompts, 0u);
  // A pass may still hold the pages of who was cancelled last.
  for (int i = 0; i < 1000 && engine_->pool().available() < engine_->pool().page_count(); ++i) {
    const uint64_t told = told_;
    scheduler_->step();
    if (engine_->pool().available() < engine_->pool().page_count()) told_.wait(told);
  }
  EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
}

TEST_F(SchedulerStreamTest, CoresComputeWhatAnAcceleratorFailsAt) {
  const std::vector<Request> all = requests(30, 300);
  const auto expected = by_cores(large(), all);
  start_streaming(large(), 32, 5);
  ask_all(all);
  run_all([](int) {});
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  EXPECT_GT(statistics_.unstreamed_prompts, 0u);
  EXPECT_GT(streamer_->figures().failed_passes, 0u);
  expect_all_pages();
}

// What ends meanwhile leaves its pages to the pass until that has let go.
TEST_F(SchedulerStreamTest, EndsWithPromptsUnderWay) {
  start_streaming(large(), 32);
  ask_all(requests(8, 400));
  scheduler_->step();
  scheduler_->end_all(Finish::kCancelled);
  collect();
  EXPECT_EQ(ended_, asked_.size());
}

}  // namespace
}  // namespace hearth
