// Tests of the scheduler where memory runs out. Each allocation of a run fails in turn.
// Nevertheless every choice of every request gets exactly one last result.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "engine/scheduler.h"
#include "formats/gguf.h"
#include "replaced_new.h"
#include "tiny_engine.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Says which allocation fails: the `failing`th that `thread` makes.
struct Shortage {
  mutable std::atomic<std::thread::id> thread{};
  mutable std::atomic<uint64_t> allocations{0}, failing{0};
};

const Shortage& shortage() {
  static const Shortage kShortage;
  return kShortage;
}

}  // namespace

bool may_allocate() {
  const Shortage& now = shortage();
  return now.thread.load() != std::this_thread::get_id() || ++now.allocations != now.failing;
}

namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr uint64_t kStride = 7;
#else
constexpr uint64_t kStride = 1;
#endif

constexpr uint32_t kTokens = 260;

Vocab vocab() {
  Vocab vocab = bpe_vocab({});
  add_words(vocab, kTokens);
  return vocab;
}

class ShortageTest : public testing::Test {
 protected:
  ShortageTest() {
    TinyShape shape = kTiniest;
    shape.layers = 1;
    shape.vocabulary = kTokens;
    file_ = std::make_unique<ModelSource>(parse_gguf(tiny_llama(shape), "tiny"));
    tokenizer_ = Tokenizer::from_vocab(vocab());
    EngineOptions options;
    options.threads = 1;
    options.context = 192;
    options.kv_pages = 3;
    options.prefill_rows = 64;
    options.scored_rows = 8;
    engine_ = tiny_engine(*file_, options);
  }
  // Makes five requests: for several choices with stop texts and log-probabilities; for a text so
  // long that others lose their pages; for rows of logits; for choices of one token; and for a
  // prompt's log-probabilities.
  static std::vector<Request> requests() {
    std::mt19937 random(1);
    std::vector<Request> all(5);
    for (Request& request : all) {
      request.prompt = random_tokens(random, 70, kTokens);
      request.max_tokens = 4;
      request.sampling.temperature = 1;
    }
    all[0].choices = 3;
    all[0].stops = {"a rather long text that never comes", "another one"};
    all[0].top_logprobs = 3;
    all[1].prompt.resize(10);
    all[1].max_tokens = 60;
    all[2].deliver = Deliver::kLogits;
    all[2].rows_from = 65;
    all[3].choices = 2;
    all[3].max_tokens = 1;
    all[4].deliver = Deliver::kPrompt;
    all[4].prompt_logprobs = true;
    all[4].top_logprobs = 2;
    return all;
  }
  // Serves the requests as the service does while its `failing`th allocation fails. Returns the
  // number of allocations.
  uint64_t serve(Scheduler& scheduler, const std::shared_ptr<ResultStream>& stream,
                 uint64_t failing) {
    std::vector<std::shared_ptr<Job>> jobs;
    for (const Request& request : requests()) {
      jobs.push_back(std::make_shared<Job>(jobs.size(), request, stream));
    }
    const Shortage& now = shortage();
    now.allocations = 0;
    now.failing = failing;
    now.thread = std::this_thread::get_id();
    try {
      for (const std::shared_ptr<Job>& job : jobs) scheduler.add(job);
      while (scheduler.step()) {
      }
    } catch (const std::exception& error) {
      scheduler.end_all(Finish::kFailed, error.what());
    }
    now.thread = std::thread::id();
    return now.allocations;
  }

  std::unique_ptr<ModelSource> file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ShortageTest, EveryChoiceEndsOnceWhicheverAllocationFails) {
  uint64_t failing = 1, failures = 0;
  for (bool failed = true; failed; failing += kStride) {
    Statistics statistics;
    Scheduler scheduler(*engine_, tokenizer_.get(), {}, statistics);
    auto stream = std::make_shared<ResultStream>(1024);
    failed = serve(scheduler, stream, failing) >= failing;
    std::map<std::pair<uint64_t, uint32_t>, int> ends;
    while (std::optional<Result> result = stream->try_pop()) {
      int& ended = ends[{result->request, result->choice}];
      EXPECT_EQ(ended, 0) << "a result behind the last, at allocation " << failing;
      ended += result->finish.has_value();
      failures += result->finish == Finish::kFailed;
      EXPECT_EQ(result->finish == Finish::kFailed, !result->error.empty());
    }
    ASSERT_EQ(ends.size(), 8u) << "at allocation " << failing;
    for (const auto& [choice, ended] : ends) {
      ASSERT_EQ(ended, 1) << "request " << choice.first << ", choice " << choice.second
                          << ", at allocation " << failing;
    }
    ASSERT_EQ(statistics.finished_choices, 8u) << "at allocation " << failing;
    ASSERT_TRUE(stream->reserve(1024)) << "its room was given back, at allocation " << failing;
    ASSERT_FALSE(scheduler.step()) << "nothing is left";
    ASSERT_EQ(engine_->pool().available(), engine_->pool().page_count())
        << "at allocation " << failing;
  }
  EXPECT_GT(failing, 500u);
  EXPECT_GT(failures, failing / kStride);
}

TEST_F(ShortageTest, AStepThatFailsLeavesItsSequencesAsTheyWere) {
  std::mt19937 random(2);
  const std::vector<int32_t> tokens = random_tokens(random, 20, kTokens);
  const Shortage& now = shortage();
  uint64_t failing = 1;
  for (bool failed = true; failed; ++failing) {
    auto one = engine_->new_sequence(), other = engine_->new_sequence();
    const StepRequest requests[] = {
        {.sequence = one.get(), .tokens = tokens, .want = Want::kLast},
        {.sequence = other.get(), .tokens = tokens, .want = Want::kLast}};
    now.allocations = 0;
    now.failing = failing;
    now.thread = std::this_thread::get_id();
    try {
      engine_->step(requests);
      failed = false;
    } catch (const std::bad_alloc&) {
    }
    now.thread = std::thread::id();
    const uint32_t length = failed ? 0 : 20;
    ASSERT_EQ(one->length(), length) << "at allocation " << failing;
    ASSERT_EQ(other->length(), length) << "at allocation " << failing;
  }
  EXPECT_GT(failing, 4u);
}

}  // namespace
}  // namespace hearth
