// Tests of streamed prompts where the accelerator's bits differ from those of the cores. A text has
// the same bits alone and among others. No text takes cached pages whose bytes the other one (cores
// or accelerator) would have made differently.
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <limits>

#include "accelerator/virtual/virtual_accelerator.h"
#include "base/error.h"
#include "failing_accelerator.h"
#include "hybrid/accelerator_layers.h"
#include "hybrid/layer_runs.h"
#include "hybrid/prefill_pass.h"
#include "scheduler_fixture.h"
#include "streaming.h"

namespace hearth {
namespace {

constexpr StreamRule kRule{100};

// Imports at most `most` pieces of memory, each a page of the operating system.
class ShortOfImports : public VirtualAccelerator {
 public:
  explicit ShortOfImports(uint64_t most)
      : VirtualAccelerator(VirtualOptions{}), facts_(VirtualAccelerator::facts()), most_(most) {
    facts_.allocation_bytes = facts_.import_alignment;
  }
  const AcceleratorFacts& facts() const override { return facts_; }
  Buffer import(std::span<std::byte> memory) override {
    if (imports_ == most_) fail(ErrorCode::kResource, "there is room for {} pieces", most_);
    ++imports_;
    return VirtualAccelerator::import(memory);
  }

 private:
  AcceleratorFacts facts_;
  const uint64_t most_;
  uint64_t imports_ = 0;
};

class SchedulerFormsTest : public SchedulerTest {
 protected:
  SchedulerFormsTest() {
    TinyShape shape = kTiniest;
    shape.bf16 = true;
    file_ = parse_gguf(tiny_llama(shape), "tiny");
  }
  ~SchedulerFormsTest() override { streamer_.reset(); }

  using Open = std::function<std::shared_ptr<Accelerator>()>;
  // Makes accelerators that fail from their `last`th submission on.
  void start_losing(uint32_t last) {
    start_streaming(kRule, 0, [this, last] {
      auto gpu = std::make_shared<FailingAccelerator>(VirtualOptions{.seed = ++made_});
      gpu->arm({FaultKind::kSubmit, last});
      return gpu;
    });
  }
  void start_streaming(std::optional<StreamRule> rule, uint32_t threshold = 0, Open open = {}) {
    end();
    if (!open)
      open = [this] {
        return std::make_shared<VirtualAccelerator>(VirtualOptions{.seed = ++made_});
      };
    EngineOptions options = large();
    options.outputs = options.scored_rows = 8;
    engine_ = tiny_engine(file_, options);
    const auto make = [this, open] {
      const StreamPlan plan{.rows = 96, .pages = 40, .kept = 0, .berths = 2};
      auto pass = std::make_unique<PrefillPass>(engine_->pass_target(), open(), plan);
      by_host_ = pass->copied_by_host();
      return pass;
    };
    streamer_ = std::make_unique<Streamer>(
        make, StreamerOptions{.threshold = threshold, .retry_seconds = 0, .on_done = [this] {
                                ends_.notify();
                              }});
    if (rule) streamer_->set_rule(*rule);
    SchedulerOptions scheduler;
    scheduler.streamer = streamer_.get();
    scheduler_ = std::make_unique<Scheduler>(*engine_, nullptr, scheduler, statistics_);
  }
  void start_cores() {
    end();
    EngineOptions options = large();
    options.outputs = options.scored_rows = 8;
    start(options);
  }
  void end() {
    streamer_.reset();
    scheduler_.reset();
    engine_.reset();
  }
  // Sends all requests at once and returns the results of each.
  std::vector<std::vector<Result>> together(const std::vector<Request>& requests) {
    std::vector<Asked> asked;
    for (const Request& request : requests) asked.push_back(ask(request));
    std::vector<std::vector<Result>> results(asked.size());
    size_t left = 0;
    for (const Request& request : requests) left += request.choices;
    for (int step = 0; left > 0 && step < 100000; ++step) {
      const uint64_t ends = ends_.count();
      const bool any = scheduler_->step();
      size_t came = 0;
      for (size_t i = 0; i < asked.size(); ++i) {
        for (Result& result : read(asked[i])) {
          ++came;
          if (result.finish) --left;
          results[i].push_back(std::move(result));
        }
      }
      if (!any && came == 0) ends_.wait_for(ends + 1);
    }
    EXPECT_EQ(left, 0u);
    return results;
  }
  std::vector<Result> alone(const Request& request) { return together({request})[0]; }

  static void expect_same(const std::vector<Result>& a, const std::vector<Result>& b) {
    for (uint32_t choice = 0; choice < 2; ++choice) {
      EXPECT_EQ(tokens_of(a, choice), tokens_of(b, choice));
      EXPECT_EQ(logprobs_of(a, choice), logprobs_of(b, choice));
    }
  }
  static std::vector<double> logprobs_of(const std::vector<Result>& results, uint32_t choice) {
    std::vector<double> all;
    for (const Result& result : results) {
      if (result.choice == choice && result.has_token()) all.push_back(result.logprob);
      for (const TokenScore& score : result.prompt_logprobs) all.push_back(score.logprob);
    }
    return all;
  }
  // Returns the bytes of a page in all layers.
  static std::vector<std::byte> page_bytes(const Engine& engine, uint32_t page) {
    const KvView& kv = *engine.pass_target().kv;
    std::vector<std::byte> bytes;
    for (uint32_t layer = 0; layer < engine.spec().layers.size(); ++layer) {
      const std::byte* at = kv.page(0, layer, page, 0).k;
      bytes.insert(bytes.end(), at, at + kv.page_bytes(0, layer));
    }
    return bytes;
  }
  std::vector<Request> requests(size_t count) {
    std::vector<Request> all;
    for (size_t i = 0; i < count; ++i) {
      all.push_back(text(1 + static_cast<uint32_t>(random_() % 400), 1 + random_() % 6));
      Request& request = all.back();
      request.sampling.seed = i;
      if (i % 5 == 4) request.prompt_logprobs = true;
      if (i % 4 == 3) request.choices = 2;
      if (i % 6 == 5) request.first_turn = static_cast<uint32_t>(request.prompt.size()) / 2 + 1;
      if (i % 3 != 2 || i == 0) continue;
      const std::vector<int32_t>& other = all[i - 1].prompt;
      std::copy_n(other.begin(), std::min(other.size(), request.prompt.size()),
                  request.prompt.begin());
    }
    return all;
  }
  void expect_all_pages() {
    scheduler_->step();
    EXPECT_EQ(engine_->pool().available(), engine_->pool().page_count());
  }

  std::unique_ptr<Streamer> streamer_;
  Notices ends_;
  uint64_t made_ = 0;  // made by the streamer's threads, which run one after the other
  std::string by_host_;
};

TEST_F(SchedulerFormsTest, TextsAreTheSameAloneAndTogether) {
  const std::vector<Request> all = requests(48);
  std::vector<std::vector<Result>> expected;
  for (const Request& request : all) {
    start_streaming(kRule);
    expected.push_back(alone(request));
  }
  start_streaming(kRule);
  for (int time = 0; time < 2; ++time) {
    const auto results = together(all);
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(results[i], expected[i]);
    }
  }
  EXPECT_GT(statistics_.streamed_prompts, 40u);
  EXPECT_GT(statistics_.cache_hits, 10u);
  EXPECT_EQ(statistics_.changed_prompts, 0u);
  expect_all_pages();
}

TEST_F(SchedulerFormsTest, StreamedPagesHaveTheBitsOfLevelsWithoutBf16) {
  const Request request = text(300, 1);
  start_streaming(kRule);
  alone(request);
  const auto streamed = engine_->new_sequence(0, kRule.positions(300)),
             cores = engine_->new_sequence();
  EXPECT_EQ(streamed->adopt_prefix(request.prompt), kRule.positions(300));
  EXPECT_EQ(cores->adopt_prefix(request.prompt), 0u);
  engine_->prefill(*cores, request.prompt);
  const std::vector<Isa> levels = available_isas(detect_cpu_features());
  Engine plain(file_, make_spec(file_), Machine::invented(1, 1),
               levels[std::min<size_t>(1, levels.size() - 1)], large());
  const auto expected = plain.new_sequence();
  plain.prefill(*expected, request.prompt);
  bool differs = false;
  for (size_t page = 0; page < streamed->pages().size(); ++page) {
    const auto bytes = page_bytes(*engine_, streamed->pages()[page]);
    EXPECT_EQ(bytes, page_bytes(plain, expected->pages()[page])) << page;
    differs = differs || bytes != page_bytes(*engine_, cores->pages()[page]);
  }
  EXPECT_EQ(differs, pass_has_own_bits(engine_->spec(), engine_->isa()));
}

// A short prompt, and a prompt whose rows are all wanted, have the bits of the cores even if the
// cache has pages of them that the accelerator made. The same long prompt again uses those pages.
TEST_F(SchedulerFormsTest, HitsNeverMixForms) {
  const Request first = text(300, 3);
  Request beginning = first, scored = first;
  beginning.prompt.resize(90);
  scored.prompt_logprobs = true;
  start_cores();
  const auto short_expected = alone(beginning), scored_expected = alone(scored);
  start_streaming(kRule);
  const auto expected = alone(first);
  EXPECT_EQ(statistics_.streamed_tokens, kRule.positions(300));
  const uint64_t cached = statistics_.cached_tokens;
  expect_same(alone(beginning), short_expected);
  EXPECT_EQ(statistics_.cached_tokens, cached);
  expect_same(alone(scored), scored_expected);
  EXPECT_EQ(statistics_.cached_tokens, cached);
  expect_same(alone(first), expected);
  EXPECT_EQ(statistics_.cached_tokens, cached + 256);
  EXPECT_EQ(statistics_.streamed_prompts, 1u);
}

TEST_F(SchedulerFormsTest, CoresComputeWhatALostAcceleratorWasDue) {
  const std::vector<Request> all = requests(20);
  start_cores();
  const auto expected = together(all);
  start_losing(1);
  const auto results = together(all);
  for (size_t i = 0; i < all.size(); ++i) expect_same(results[i], expected[i]);
  EXPECT_GT(statistics_.changed_prompts, 5u);
  EXPECT_EQ(statistics_.streamed_prompts, 0u);
  expect_all_pages();
  // The loss comes after some passes have ended well.
  start_losing(18);
  together(requests(20));
  EXPECT_GT(statistics_.streamed_prompts, 0u);
  expect_all_pages();
}

// The host copies the memory that cannot be imported.
TEST_F(SchedulerFormsTest, ImportsWhatThereIsRoomFor) {
  const std::vector<Request> all = requests(6);
  start_streaming(kRule);
  EXPECT_EQ(by_host_, "");
  const auto expected = together(all);
  const PassTarget target = engine_->pass_target();
  const uint64_t piece = VirtualAccelerator(VirtualOptions{}).facts().import_alignment;
  const uint64_t pages = target.kv_memory[0].size() / piece;
  const std::vector<LayerRuns> layers = layer_runs(*target.model);
  const auto* arena = target.model->arenas()[0].data();
  const auto first = static_cast<uint64_t>(layers[1].runs[0].first - arena) / piece + 1;
  const std::string none = "2 of 2 layers and pages: there is room for ";
  for (const auto& [most, by_host] :
       {std::pair{uint64_t{0}, none + "0 pieces"},
        {pages - 1, none + fmt::format("{} pieces", pages - 1)},
        {pages + first,
         fmt::format("1 of 2 layers: there is room for {} pieces", pages + first)}}) {
    start_streaming(kRule, 0, [most] { return std::make_shared<ShortOfImports>(most); });
    EXPECT_EQ(by_host_, by_host);
    const auto results = together(all);
    for (size_t i = 0; i < all.size(); ++i) expect_same(results[i], expected[i]);
  }
  EXPECT_EQ(statistics_.unstreamed_prompts, 0u);
}

// Cores and accelerator give the same bits here. So the second prompt may use the pages that the
// pass of the first one fills.
TEST_F(SchedulerFormsTest, PromptsThatBeginAlikeComputeItOnce) {
  std::vector<Request> pair = {text(400, 2), text(400, 2)};
  std::copy_n(pair[0].prompt.begin(), 320, pair[1].prompt.begin());
  start_streaming({}, 64);
  together(pair);
  EXPECT_EQ(statistics_.streamed_tokens, 399u + 79u);
  EXPECT_EQ(statistics_.cached_tokens, 320u);
  // Cached tokens do not count towards streaming: only 15 tokens are left.
  together({pair[0]});
  EXPECT_EQ(statistics_.streamed_tokens, 399u + 79u);
  EXPECT_EQ(statistics_.cached_tokens, 320u + 384u);
  // A prompt waits for another one's pass only if they share at least half of it.
  pair = {text(400, 2), text(400, 2)};
  std::copy_n(pair[0].prompt.begin(), 64, pair[1].prompt.begin());
  together(pair);
  EXPECT_EQ(statistics_.streamed_tokens, 399u + 79u + 2 * 399u);
  start_streaming(kRule);
  pair[1].prompt = pair[0].prompt;
  const uint64_t before = statistics_.streamed_tokens;
  together(pair);
  EXPECT_EQ(statistics_.streamed_tokens, before + kRule.positions(400));
  EXPECT_EQ(statistics_.cached_tokens, 320u + 384u + kRule.positions(400));
  EXPECT_EQ(statistics_.unstreamed_prompts, 0u);
}

}  // namespace
}  // namespace hearth
