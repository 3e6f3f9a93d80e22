// Tests of prompts that are streamed beside the steps, through the virtual accelerator. The texts
// are those of the cores alone, whatever is cancelled, preempted or fails, and no page is lost.
// HEARTH_ALL_STREAMS in the environment draws many more shapes and prompts.
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <list>

#include "failing_accelerator.h"
#include "hybrid/prefill_pass.h"
#include "scheduler_fixture.h"
#include "streaming.h"

namespace hearth {
namespace {

size_t resident_bytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

struct Streaming {
  uint32_t threshold = 32;
  StreamPlan plan = {.rows = 96, .pages = 40, .kept = 0, .berths = 2};
  Fault fault = {};         // of the accelerators
  bool every_time = false;  // all accelerators have the fault, else only the first
  bool imports = true;
  double retry_seconds = 0;
  std::function<double()> clock = {};
};

class SchedulerStreamTest : public SchedulerTest {
 protected:
  static EngineOptions with_scores(EngineOptions options) {
    options.outputs = 8;
    options.scored_rows = 8;
    return options;
  }
  void start_streaming(const EngineOptions& options, const Streaming& how) {
    engine_ = tiny_engine(file_, with_scores(options));
    stream(how);
  }
  // Starts streaming beside the existing engine.
  void stream(const Streaming& how) {
    const auto make = [this, how, first = made_.load()] {
      const uint64_t number = made_++;
      auto gpu = std::make_shared<FailingAccelerator>(
          VirtualOptions{.seed = number, .imports = how.imports});
      auto pass = std::make_unique<PrefillPass>(engine_->pass_target(), gpu, how.plan);
      if (how.every_time || number == first) {
        gpu->arm(how.fault);
        gpu_ = std::move(gpu);
      }
      return pass;
    };
    streamer_ = std::make_unique<Streamer>(
        make, StreamerOptions{.threshold = how.threshold,
                              .retry_seconds = how.retry_seconds,
                              .on_done = [this] { ends_.notify(); },
                              .warn = [this](const std::string&) { notices_.notify(); },
                              .clock = how.clock});
    SchedulerOptions scheduler;
    scheduler.streamer = streamer_.get();
    scheduler_ = std::make_unique<Scheduler>(*engine_, nullptr, scheduler, statistics_);
  }
  void stop_streaming() {
    streamer_.reset();
    gpu_.reset();
    scheduler_.reset();
    EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  }
  ~SchedulerStreamTest() override { streamer_.reset(); }

  // Steps once. If there was nothing to do and `more` says that there will be, waits for a pass.
  template <typename More>
  void step_or_wait(const More& more) {
    const uint64_t ends = ends_.count();
    if (scheduler_->step()) return;
    if (more()) ends_.wait_for(ends + 1);
  }
  // Steps until all requests have ended; `before_step(i)` is called before each step.
  template <typename Act>
  void run_all(const Act& before_step) {
    for (int step = 0; ended_ < asked_.size(); ++step) {
      ASSERT_LT(step, 100000);
      before_step(step);
      step_or_wait([this] {
        collect();
        return ended_ < asked_.size();
      });
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
    asked_.clear();
    for (const Request& request : requests) asked_.push_back(ask(request));
    results_.assign(asked_.size(), {});
    finish_.assign(asked_.size(), {});
    ended_ = 0;
  }
  std::vector<Request> requests(size_t count, uint32_t longest) {
    std::vector<Request> all;
    for (size_t i = 0; i < count; ++i) {
      Request request = text(1 + static_cast<uint32_t>(random_() % longest),
                             1 + static_cast<uint32_t>(random_() % 8));
      request.sampling.seed = i;
      if (i % 5 == 4) request.prompt_logprobs = true;
      if (i % 7 == 6) {  // shares a beginning with another prompt
        const std::vector<int32_t>& other = all[i - 1].prompt;
        const size_t shared = std::min(other.size(), request.prompt.size());
        std::copy_n(other.begin(), shared, request.prompt.begin());
      }
      all.push_back(std::move(request));
    }
    return all;
  }
  // Returns the tokens of the requests, computed by the cores without an accelerator.
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
  // Runs all requests to the end and cancels some of them at some step.
  void run_with_cancels(uint32_t seed, std::vector<bool>* cancelled) {
    std::mt19937 random(seed);
    cancelled->assign(asked_.size(), false);
    run_all([&](int) {
      if (random() % 4 != 0) return;
      const size_t i = random() % asked_.size();
      if (i % 3 != 0) return;
      (*cancelled)[i] = true;
      asked_[i].job->cancel();
    });
  }
  // Expects that so many pages become free. A pass under way may still hold pages of a cancelled
  // prompt, so this waits for passes to end.
  void expect_pages(uint32_t pages) {
    scheduler_->step();
    for (int i = 0; i < 1000 && engine_->pool().available() < pages; ++i) {
      step_or_wait([&] { return engine_->pool().available() < pages; });
    }
    EXPECT_EQ(engine_->pool().available(), pages);
  }
  void expect_all_pages() { expect_pages(engine_->pool().page_count()); }
  void try_fault(const Fault& fault, bool imports, const Request& request,
                 const std::vector<int32_t>& expected);

  std::unique_ptr<Streamer> streamer_;
  std::shared_ptr<FailingAccelerator> gpu_;  // the last accelerator with a fault
  Notices ends_, notices_;                   // ends of passes; messages
  std::atomic<uint64_t> made_ = 0;
  std::vector<Asked> asked_;
  std::vector<std::vector<Result>> results_;
  std::vector<std::optional<Finish>> finish_;
  size_t ended_ = 0;
};

// Half of the texts, about, are long enough to be streamed. If a text begins like one whose pass is
// under way, its remainder may be too short.
TEST_F(SchedulerStreamTest, TextsAreThoseOfTheCores) {
  const std::vector<Request> all = requests(48, 400);
  const auto expected = by_cores(large(), all);
  start_streaming(large(), {.threshold = 160});
  ask_all(all);
  run_all([](int) {});
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  EXPECT_GE(statistics_.streamed_prompts, 12u);
  EXPECT_LE(statistics_.streamed_prompts, 32u);
  EXPECT_EQ(statistics_.unstreamed_prompts, 0u);
  expect_all_pages();
}

// Some rows are expanded and others are not, wherever a pass begins and ends.
TEST_F(SchedulerStreamTest, TextsAreThoseOfTheCoresWithLatents) {
  file_ = parse_gguf(tiny_deepseek2(kTiniest), "tiny");
  EngineOptions options = large();
  options.expand = {.tail = 64, .step = 64};
  const std::vector<Request> all = requests(20, 400);
  const auto expected = by_cores(options, all);
  start_streaming(options, {.threshold = 64});
  ask_all(all);
  run_all([](int) {});
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  EXPECT_GE(statistics_.streamed_prompts, 8u);
  expect_all_pages();
}

// Pools are as small as one context, so that sequences lose their pages while others are streamed,
// and kept pages are reused. Passes have all shapes, and prompts are cancelled.
TEST_F(SchedulerStreamTest, TextsAreThoseOfTheCoresInAnyShape) {
  file_ = parse_gguf(
      tiny_llama({.layers = 3, .width = 96, .heads = 6, .kv_heads = 3, .head_dim = 16, .ffn = 96}),
      "tiny");
  for (uint32_t seed = 0; seed < (all_streams() ? 200u : 4u) && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    EngineOptions options = large();
    options.context = all_streams() ? 720 : 320;
    options.shards = options.threads = 1 + seed % 3;
    options.kv_type = std::array{KvType::kF32, KvType::kF16, KvType::kBF16}[random() % 3];
    const uint32_t context = pages_for(options.context);
    options.kv_pages = context + random() % (3 * context);
    const Streaming how{.threshold = 16 + static_cast<uint32_t>(random() % 200),
                        .plan = {.rows = kMinPassRows + static_cast<uint32_t>(random() % 400),
                                 .pages = context + static_cast<uint32_t>(random() % 20),
                                 .kept = static_cast<uint32_t>(random() % 4),
                                 .berths = 1 + static_cast<uint32_t>(random() % 3)},
                        .imports = random() % 4 != 0};
    const std::vector<Request> all = requests(all_streams() ? 48 : 24, options.context - 20);
    const auto expected = by_cores(options, all);
    start_streaming(options, how);
    ask_all(all);
    std::vector<bool> cancelled;
    run_with_cancels(seed, &cancelled);
    for (size_t i = 0; i < all.size(); ++i) {
      if (cancelled[i]) continue;
      EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
    }
    expect_all_pages();
    stop_streaming();
  }
  EXPECT_GT(statistics_.streamed_prompts, 8u);
}

// The pool has room for two contexts, so that sequences lose their pages while others are streamed.
TEST_F(SchedulerStreamTest, SurvivesCancelsAndShortMemory) {
  EngineOptions options = small();
  options.kv_pages = 7;
  const std::vector<Request> all = requests(40, 180);
  const auto expected = by_cores(options, all);
  start_streaming(options, {.threshold = 20});
  ask_all(all);
  std::vector<bool> cancelled;
  run_with_cancels(3, &cancelled);
  for (size_t i = 0; i < all.size(); ++i) {
    if (cancelled[i]) continue;
    EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  }
  EXPECT_GT(statistics_.streamed_prompts, 0u);
  expect_all_pages();
}

TEST_F(SchedulerStreamTest, CoresComputeWhatAnAcceleratorFailsAt) {
  const std::vector<Request> all = requests(30, 300);
  const auto expected = by_cores(large(), all);
  start_streaming(large(), {.fault = {FaultKind::kSubmit, 5}, .every_time = true});
  ask_all(all);
  run_all([](int) {});
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens_of(results_[i]), expected[i]) << i;
  EXPECT_GT(statistics_.unstreamed_prompts, 0u);
  EXPECT_GT(streamer_->figures().failed_passes, 0u);
  expect_all_pages();
}

void SchedulerStreamTest::try_fault(const Fault& fault, bool imports, const Request& request,
                                    const std::vector<int32_t>& expected) {
  const uint64_t unstreamed = statistics_.unstreamed_prompts;
  stream({.plan = {.rows = 96, .pages = 40, .kept = 1, .berths = 2},
          .fault = fault,
          .imports = imports});
  ask_all({request});
  run_all([](int) {});
  EXPECT_EQ(tokens_of(results_[0]), expected);
  EXPECT_EQ(statistics_.unstreamed_prompts - unstreamed, gpu_->failed() ? 1u : 0u);
  if (fault.kind == FaultKind::kHung) {
    EXPECT_EQ(gpu_->waited_seconds(), gpu_->failed() ? 20 : 0) << "as docs/gpu.md says";
  }
  const auto end = static_cast<uint32_t>(request.prompt.size()) - 1;
  const uint32_t lost = gpu_->failed() && fault.loses() ? pages_for(end) : 0;
  expect_pages(engine_->pool().page_count() - lost);
}

// Each call of every kind is once the first to fail, for a prompt that takes two passes over four
// layers.
TEST_F(SchedulerStreamTest, AFaultAtAnyCallCostsNoTextAndNoPage) {
  TinyShape shape = kTiniest;
  shape.layers = 4;
  file_ = parse_gguf(tiny_llama(shape), "tiny");
  const Request request = text(150, 4);
  const auto expected = by_cores(large(), {request})[0];
  size_t calls = 0;
  for (const bool imports : {true, false}) {
    for (const FaultKind kind : {FaultKind::kSubmit, FaultKind::kTransfer, FaultKind::kStopped,
                                 FaultKind::kLost, FaultKind::kTimeout, FaultKind::kHung}) {
      for (uint32_t at = 1, failed = 1; failed != 0 && !HasFailure(); ++at) {
        SCOPED_TRACE(testing::Message() << "imports " << imports << ", kind "
                                        << static_cast<int>(kind) << ", call " << at);
        engine_ = tiny_engine(file_, with_scores(large()));
        try_fault({kind, at}, imports, request, expected);
        failed = gpu_->failed() ? 1 : 0;
        calls += failed;
        stop_streaming();
      }
    }
  }
  // There are 14 submitted lists with imported memory and 8 without. Each has four kinds of fault.
  EXPECT_GT(calls, 4 * (14 + 8) + 30u);
}

// The scheduler gives up on the GPU: after 20 s the cores compute all, for a minute.
TEST_F(SchedulerStreamTest, AGpuThatStopsIsLeftOutForAMinute) {
  const std::vector<Request> all = requests(24, 300);
  const auto expected = by_cores(large(), all);
  std::atomic<double> now = 0;
  start_streaming(large(), {.fault = {FaultKind::kHung, 3}, .retry_seconds = 60, .clock = [&] {
                              return now.load();
                            }});
  const auto expect_eight = [&](size_t first) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
    ask_all({from, from + 8});
    run_all([](int) {});
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(tokens_of(results_[i]), expected[first + i]) << i;
  };
  expect_eight(0);
  EXPECT_EQ(gpu_->waited_seconds(), 20);
  const uint64_t unstreamed = statistics_.unstreamed_prompts;
  EXPECT_GT(unstreamed, 0u);
  notices_.wait_for(2);  // the GPU is left out, and its pages are lost
  now = 59.9;
  streamer_->cancel(0);  // wakes the thread, which looks at the clock
  expect_eight(8);
  EXPECT_EQ(statistics_.streamed_prompts, 0u);
  EXPECT_EQ(made_, 1u);
  now = 60;
  streamer_->cancel(0);
  notices_.wait_for(3);
  EXPECT_EQ(made_, 2u);
  expect_eight(16);
  EXPECT_GT(statistics_.streamed_prompts, 0u);
  EXPECT_EQ(statistics_.unstreamed_prompts, unstreamed);
  stop_streaming();
}

// The pages of the only context are lost with the GPU. The text cannot be computed, and its client
// gets the reason.
TEST_F(SchedulerStreamTest, RequestsFailWhereLostPagesLeaveTooFew) {
  const Request request = text(150, 4);
  start_streaming(small(), {.fault = {FaultKind::kLost, 3}});
  ask_all({request});
  run_all([](int) {});
  EXPECT_EQ(finish_[0], Finish::kFailed);
  EXPECT_NE(results_[0].back().error.find("a GPU was lost"), std::string::npos);
  expect_pages(0);
  stop_streaming();
}

// Prompts come and go, a dozen at a time. Half of them are cancelled at some point.
TEST_F(SchedulerStreamTest, ManyPromptsLeaveNothingBehind) {
  const size_t count = all_streams() ? 10000 : 600;
  EngineOptions options = small();
  options.kv_pages = 14;
  start_streaming(options, {.threshold = 16});
  struct Under {
    Asked asked;
    uint32_t left;  // steps until it is cancelled; 0: never
  };
  std::list<Under> under;
  size_t begun = 0, cancelled = 0, complete = 0, early = 0;
  const auto take = [&](Under& one) {
    for (const Result& result : read(one.asked)) {
      if (!result.finish) continue;
      complete += result.finish == Finish::kLength ? 1 : 0;
      cancelled += result.finish == Finish::kCancelled ? 1 : 0;
      return true;
    }
    return false;
  };
  while (begun < count || !under.empty()) {
    for (; begun < count && under.size() < 12; ++begun) {
      const auto draw = [this](uint32_t most) { return static_cast<uint32_t>(random_() % most); };
      const Asked asked = ask(text(1 + draw(150), 1 + draw(3)), 16);
      under.push_back({asked, draw(2) == 0 ? 0 : 1 + draw(8)});
    }
    for (Under& one : under) {
      if (one.left > 0 && --one.left == 0) one.asked.job->cancel();
    }
    step_or_wait([&] {
      std::erase_if(under, take);
      const auto waits = [](const Under& one) { return one.left == 0; };
      return !under.empty() && std::ranges::all_of(under, waits);
    });
    std::erase_if(under, take);
    if (early == 0 && begun > count / 5) early = resident_bytes();
  }
  EXPECT_EQ(complete + cancelled, count);
  EXPECT_GT(cancelled, count / 3);
  EXPECT_GT(statistics_.streamed_prompts, count / 4);
  expect_all_pages();
  if (all_streams()) {
    EXPECT_LT(resident_bytes(), early + (2 << 20));
  }
}

// A prompt that ends during a pass leaves its pages to the pass, which releases them at its own
// end.
TEST_F(SchedulerStreamTest, EndsWithPromptsUnderWay) {
  start_streaming(large(), {});
  ask_all(requests(8, 400));
  scheduler_->step();
  scheduler_->end_all(Finish::kCancelled);
  collect();
  EXPECT_EQ(ended_, asked_.size());
}

}  // namespace
}  // namespace hearth
