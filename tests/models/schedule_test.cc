// Tests of random schedules on one thread. Requests come and are cancelled, clients stop reading,
// and texts lose their pages. Yet each request gets the same tokens, log-probabilities and rows as
// if it ran alone, to the bit. No page is lost, no request waits longer than promised, and the
// figures add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engine/check_request.h"
#include "engine/scheduler.h"
#include "formats/gguf.h"
#include "schedule_watch.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr bool kFew = true;                   // the schedules are too few for everything to happen
constexpr int kEngines = 3, kSchedules = 10;  // kEngines a variant, kSchedules an engine
#else
constexpr bool kFew = false;
constexpr int kEngines = 13, kSchedules = 50;
#endif

constexpr uint32_t kContext = 192;
constexpr uint32_t kMaxChoices = 4;

struct Dish {
  Request request;
  Alone alone;
};

// The requests that clients choose from: prompts of all kinds that share beginnings.
class Menu {
 public:
  Menu(Engine& engine, uint32_t seed) : latents_(engine.spec().has_latents()), random_(seed) {
    uint32_t vocabulary = engine.spec().hyper.vocabulary;
    for (int i = 0; i < 4; ++i) {
      std::vector<int32_t> tokens = random_tokens(random_, kContext, vocabulary);
      if (i > 0) std::copy_n(bases_[0].begin(), 40 * i, tokens.begin());
      bases_.push_back(std::move(tokens));
    }
    for (int i = 0; i < 40; ++i) {
      Request request = make_request();
      Alone alone = get_alone(engine, request);
      dishes_.push_back({std::move(request), std::move(alone)});
    }
  }
  const Dish& pick(std::mt19937& random) const { return dishes_[random() % dishes_.size()]; }

 private:
  Request make_request() {
    Request request;
    const std::vector<int32_t>& base = bases_[random_() % bases_.size()];
    size_t length = 1 + random_() % (random_() % 3 == 0 ? 16 : kContext);
    request.prompt.assign(base.begin(), base.begin() + static_cast<long>(length));
    if (latents_ && random_() % 3 == 0) request.first_turn = 1 + random_() % length;
    uint32_t kind = random_() % 8;
    if (kind < 2) {
      request.deliver = kind == 0 ? Deliver::kLogits : Deliver::kHidden;
      request.rows_from = random_() % length;
      return request;
    }
    if (kind < 4) request.prompt_logprobs = true;
    if (kind == 2) {
      request.deliver = Deliver::kPrompt;
      request.top_logprobs = random_() % 4;
      return request;
    }
    request.max_tokens = random_() % 8 == 0 ? 0 : 1 + random_() % 24;
    const uint32_t more = kMaxChoices - (request.prompt_logprobs ? 2 : 1);
    request.choices = random_() % 3 == 0 ? 2 + random_() % more : 1;
    // A request without log-probabilities is served from the highest logits of a row.
    request.logprobs = random_() % 2 == 0;
    if (request.logprobs) request.top_logprobs = random_() % 4;
    request.sampling.seed = random_();
    request.sampling.temperature = random_() % 4 == 0 ? 0.0f : 1.0f;
    if (random_() % 2 == 0) request.sampling.repeat_penalty = 1.3f;
    request.sampling.penalise_generated = random_() % 4 == 0;
    if (request.sampling.penalise_generated) request.sampling.frequency_penalty = 0.5f;
    return request;
  }

  bool latents_;
  std::mt19937 random_;
  std::vector<std::vector<int32_t>> bases_;
  std::vector<Dish> dishes_;
};

// Counts of events over all schedules of a test. None may be 0.
struct Happened {
  uint64_t schedules = 0, preemptions = 0, evictions = 0, cache_hits = 0, abandoned = 0;
  uint64_t forks = 0, cancels = 0, closes = 0, chunked = 0, held_up = 0, waits = 0, rows = 0;
  uint64_t scores = 0;  // scores in results
  uint64_t kept_states = 0, evicted_states = 0, evicted_windows = 0, recomputed = 0;
};

struct Client {
  std::shared_ptr<ResultStream> stream;
  uint32_t asleep = 0;  // rounds until the client reads again
};

struct Order {
  const Dish* dish;
  Client* client;
  std::shared_ptr<Job> job;
  std::vector<uint32_t> received;  // by choice
  std::vector<std::optional<Finish>> finish;
  std::optional<uint32_t> cached;
  size_t scores = 0;  // received
};

// A schedule over an engine that earlier schedules used.
class Schedule {
 public:
  Schedule(Engine& engine, const Menu& menu, uint32_t seed, Happened* happened)
      : engine_(engine),
        menu_(menu),
        random_(seed),
        happened_(*happened),
        scheduler_(engine, nullptr, options(), statistics_) {}

  void run();

 private:
  SchedulerOptions options();
  bool one_in(uint32_t n) { return random_() % n == 0; }
  void arrive();
  void cancel_or_close();
  void read(Client& client, bool all);
  void check_result(const Result& result);
  void check_token(const Result& result, const Alone::Choice& alone, uint32_t index);
  void check_row(const Result& result, const Order& order, uint32_t index);
  void check_scores(const Result& result, Order& order);
  void check_end(uint64_t evicted_before);
  bool under_way() const;
  double time();

  Engine& engine_;
  const Menu& menu_;
  std::mt19937 random_;
  Happened& happened_;
  Statistics statistics_;
  double now_ = 0;
  Scheduler scheduler_;
  ScheduleWatch watch_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Order> orders_;  // by id
  uint64_t tokens_received_ = 0;
};

SchedulerOptions Schedule::options() {
  SchedulerOptions options;
  options.step_tokens = one_in(3) ? 0 : 2 + random_() % 60;
  options.min_chunk = 1 + random_() % (one_in(2) ? 8 : 64);
  options.min_expanded_chunk = 1 + random_() % 64;
  options.step_seconds = one_in(3) ? 0 : 1e-3 * (1 + random_() % 20);
  options.max_running = one_in(3) ? 1 + random_() % 6 : 0;
  options.prefix_cache = !one_in(4);
  options.state_pages = 1 + random_() % 3;
  options.clock = [this] { return time(); };
  return options;
}

// The scheduler calls this at both ends of a step, so that clients may leave during a step.
double Schedule::time() {
  if (one_in(200)) {
    for (const Order& order : orders_) order.job->cancel();
  }
  return now_ += 1e-5 * (random_() % 1000);
}

void Schedule::arrive() {
  if (clients_.empty() || one_in(2)) {
    uint32_t capacity = kMaxChoices + (one_in(2) ? random_() % 4 : random_() % 60);
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->stream = std::make_shared<ResultStream>(capacity);
  }
  Client* client = clients_[random_() % clients_.size()].get();
  const Dish& dish = menu_.pick(random_);
  check_request(dish.request, engine_, nullptr, *client->stream);
  uint32_t choices = dish.request.choices;
  orders_.push_back(
      {&dish, client, std::make_shared<Job>(orders_.size(), dish.request, client->stream),
       std::vector<uint32_t>(choices), std::vector<std::optional<Finish>>(choices), std::nullopt});
  statistics_.requests.add(1);
  scheduler_.add(orders_.back().job);
}

void Schedule::cancel_or_close() {
  if (orders_.empty()) return;
  const Order& order = orders_[random_() % orders_.size()];
  if (one_in(60)) order.job->cancel();
  if (one_in(120)) order.client->stream->close();
}

void Schedule::read(Client& client, bool all) {
  if (!all && client.asleep > 0) {
    --client.asleep;
    return;
  }
  if (one_in(10)) client.asleep = random_() % 30;
  uint32_t most = all ? UINT32_MAX : random_() % 6;
  for (uint32_t i = 0; i < most; ++i) {
    std::optional<Result> result = client.stream->try_pop();
    if (!result) break;
    check_result(*result);
  }
}

void Schedule::check_result(const Result& result) {
  ASSERT_LT(result.request, orders_.size());
  Order& order = orders_[result.request];
  ASSERT_LT(result.choice, order.finish.size());
  ASSERT_FALSE(order.finish[result.choice]) << "a result behind the last one";
  ASSERT_EQ(result.cached_tokens, order.cached.value_or(result.cached_tokens));
  if (result.has_token() || !result.row.empty()) order.cached = result.cached_tokens;
  ASSERT_LT(result.cached_tokens, order.dish->request.prompt.size());
  uint32_t& received = order.received[result.choice];
  if (order.dish->request.prompt_logprobs && !result.has_token()) {
    check_scores(result, order);
  } else if (result.has_token()) {
    ASSERT_EQ(order.scores, order.dish->alone.scores.size()) << "the prompt's come first";
    check_token(result, order.dish->alone.choices[result.choice], received++);
  } else if (!result.row.empty()) {
    check_row(result, order, received++);
  } else {
    ASSERT_EQ(result.finish, Finish::kCancelled);
  }
  order.finish[result.choice] = result.finish;
}

void Schedule::check_token(const Result& result, const Alone::Choice& alone, uint32_t index) {
  ++tokens_received_;
  ASSERT_LT(index, alone.tokens.size());
  const TokenAlone& expected = alone.tokens[index];
  ASSERT_EQ(result.index, index);
  ASSERT_EQ(result.token, expected.token);
  ASSERT_EQ(result.logprob, expected.logprob);
  ASSERT_EQ(result.top_logprobs, expected.top_logprobs);
  std::optional<Finish> finish;
  if (index + 1 == alone.tokens.size()) finish = alone.finish;
  ASSERT_EQ(result.finish, finish);
}

void Schedule::check_row(const Result& result, const Order& order, uint32_t index) {
  ++happened_.rows;
  const std::vector<std::vector<float>>& rows = order.dish->alone.rows;
  ASSERT_LT(index, rows.size());
  ASSERT_EQ(result.index, order.dish->request.rows_from + index);
  ASSERT_EQ(result.row, rows[index]);
  ASSERT_EQ(result.finish.has_value(), index + 1 == rows.size());
}

void Schedule::check_scores(const Result& result, Order& order) {
  if (result.finish == Finish::kCancelled) return;
  const std::vector<TokenScore>& expected = order.dish->alone.scores;
  ASSERT_EQ(result.choice, 0u);
  ASSERT_EQ(result.index, order.scores + 1);
  ASSERT_EQ(result.cached_tokens, 0u);
  for (const TokenScore& score : result.prompt_logprobs) {
    ASSERT_LT(order.scores, expected.size());
    ASSERT_EQ(score.logprob, expected[order.scores].logprob);
    ASSERT_EQ(score.top, expected[order.scores++].top);
  }
  happened_.scores += !result.prompt_logprobs.empty();
  std::optional<Finish> finish;
  if (order.dish->request.deliver == Deliver::kPrompt && order.scores == expected.size()) {
    finish = result.finish;  // the finish may come without tokens
    if (finish) {
      ASSERT_EQ(*finish, Finish::kLength);
    }
  }
  ASSERT_EQ(result.finish, finish);
}

bool Schedule::under_way() const {
  return std::ranges::any_of(orders_, [](const Order& order) {
    return !order.client->stream->closed() &&
           std::ranges::any_of(order.finish, [](const auto& finish) { return !finish; });
  });
}

void Schedule::run() {
  uint64_t evicted_before = engine_.pool().evictions();
  uint32_t arrivals = 1 + random_() % 10, hurry = 1 + random_() % 12;
  for (int round = 0; arrivals > 0 || under_way(); ++round) {
    ASSERT_LT(round, 20000) << "it goes round in circles";
    while (arrivals > 0 && one_in(hurry)) {
      arrive();
      --arrivals;
    }
    cancel_or_close();
    uint64_t preemptions = statistics_.preemptions;
    bool any = scheduler_.step();
    if (!any) {
      ASSERT_FALSE(scheduler_.step()) << "there was something to compute";
    }
    std::string unfair = watch_.look(scheduler_, statistics_.preemptions != preemptions);
    ASSERT_EQ(unfair, "");
    for (const Scheduler::Turn& turn : scheduler_.last_turns()) {
      const Request& request = orders_[turn.request].dish->request;
      happened_.chunked += !turn.decodes && turn.tokens > 0 && turn.tokens < request.prompt.size();
    }
    bool stuck = !any && arrivals == 0;
    for (auto& client : clients_) {
      read(*client, stuck);
      if (testing::Test::HasFatalFailure()) return;
    }
    // All clients have read everything, and some requests are not finished. So there must be
    // something to compute.
    if (stuck && under_way()) {
      ASSERT_TRUE(scheduler_.step()) << "nothing moves in round " << round;
    }
  }
  while (scheduler_.step()) {
  }
  check_end(evicted_before);
}

void Schedule::check_end(uint64_t evicted_before) {
  uint64_t choices = 0, cancelled = 0;
  bool closed = std::ranges::any_of(clients_, [](auto& c) { return c->stream->closed(); });
  for (const Order& order : orders_) {
    choices += order.finish.size();
    for (const auto& finish : order.finish) cancelled += finish == Finish::kCancelled;
    if (order.finish.size() > 1) ++happened_.forks;
  }
  ASSERT_EQ(statistics_.finished_choices, choices);
  ASSERT_EQ(statistics_.failed_choices, 0u);
  if (!closed) {
    ASSERT_EQ(statistics_.cancelled_choices, cancelled);
    ASSERT_EQ(statistics_.generated_tokens, tokens_received_);
  }
  ASSERT_GE(statistics_.generated_tokens, tokens_received_);
  ASSERT_EQ(statistics_.running, 0u);
  ASSERT_EQ(statistics_.waiting, 0u);
  ASSERT_EQ(engine_.pool().available(), engine_.pool().page_count()) << "a page is lost";
  ASSERT_EQ(statistics_.available_pages, statistics_.pages);
  const StatePool* states = engine_.states();
  if (states != nullptr) {
    ASSERT_EQ(states->free_places(), states->places());
    ASSERT_EQ(states->free_count() + states->kept_count(), states->slots())
        << "a state slot is lost";
    ASSERT_LE(states->kept_count(), states->max_kept());
    ASSERT_EQ(statistics_.kept_states, states->kept_count());
    happened_.kept_states += states->kept_count();
  }
  if (const WindowPool* windows = engine_.windows(); windows != nullptr) {
    ASSERT_EQ(windows->available(), windows->page_count()) << "a window page is lost";
    ASSERT_EQ(statistics_.available_window_pages, statistics_.window_pages);
    happened_.evicted_windows += statistics_.evicted_window_pages;
  }
  if (states != nullptr || engine_.windows() != nullptr) {
    happened_.recomputed += statistics_.recomputed_tokens;
  }
  ++happened_.schedules;
  happened_.preemptions += statistics_.preemptions;
  happened_.evictions += engine_.pool().evictions() - evicted_before;
  happened_.cache_hits += statistics_.cache_hits;
  happened_.evicted_states += statistics_.evicted_states;
  happened_.abandoned += statistics_.abandoned_steps;
  happened_.cancels += cancelled;
  happened_.closes += closed;
  happened_.held_up += watch_.held_up();
  happened_.waits += watch_.waits();
}

enum class Kept : uint8_t { kKeysAndValues, kLatents, kStates, kWindows };

struct Variant {
  KvType kv_type;
  uint32_t shards;
  Kept kept = Kept::kKeysAndValues;
};

std::vector<std::byte> tiny_model_of(Kept kept) {
  if (kept == Kept::kLatents) return tiny_deepseek2(kTiniest);
  if (kept == Kept::kWindows) return tiny_gemma3(kTiniest, 20);
  return kept == Kept::kStates ? tiny_qwen35(kTiniest) : tiny_llama(kTiniest);
}

class Schedules : public testing::TestWithParam<Variant> {
 protected:
  Schedules() : file_(parse_gguf(tiny_model_of(GetParam().kept), "tiny")) {}

  EngineOptions roomy() const {
    EngineOptions options;
    options.threads = options.shards = GetParam().shards;
    options.kv_type = GetParam().kv_type;
    options.context = kContext;
    options.expand = {.tail = 20, .step = 16};
    options.gives_back = false;
    return options;
  }
  EngineOptions tight(std::mt19937& random) const {
    EngineOptions options = roomy();
    if (random() % 4 == 0) options.threads = 2;
    if (random() % 2 == 0) options.prefill_groups = options.decode_groups = 1;
    options.kv_pages = pages_for(kContext) + random() % (random() % 2 == 0 ? 4 : 40);
    options.prefill_rows = 1 + random() % 90;
    options.decode_rows = 1 + random() % 16;
    options.outputs = 1 + random() % 12;
    options.hidden_rows = 1 + random() % 64;
    options.scored_rows = 1 + random() % 20;
    options.sequences = 1 + random() % 12;
    options.gives_back = true;
    if (GetParam().kept == Kept::kWindows) options.window_pages = 3 + random() % 20;
    if (random() % 4 != 0) options.kept_states = 1 + random() % (random() % 2 == 0 ? 3 : 20);
    return options;
  }

  ModelSource file_;
};

TEST_P(Schedules, EveryoneGetsWhatItGetsAlone) {
  Menu menu(*tiny_engine(file_, roomy()), 7);
  std::mt19937 random(static_cast<uint32_t>(GetParam().kv_type) * 10 + GetParam().shards);
  Happened happened;
  for (int e = 0; e < kEngines; ++e) {
    auto engine = tiny_engine(file_, tight(random));
    // A second thread makes steps more expensive, most of all where both share a core.
    int schedules = engine->threads() == 1 ? kSchedules : kSchedules / 5;
    for (int i = 0; i < schedules; ++i) {
      auto seed = static_cast<uint32_t>(random());
      Schedule(*engine, menu, seed, &happened).run();
      if (HasFatalFailure()) FAIL() << "engine " << e << " schedule " << i << " seed " << seed;
    }
  }
  EXPECT_GT(happened.schedules, 0u);
  if (kFew) return;
  EXPECT_GT(happened.preemptions, 0u);
  EXPECT_GT(happened.evictions, 0u);
  EXPECT_GT(happened.cache_hits, 0u);
  const bool states = GetParam().kept == Kept::kStates;
  EXPECT_EQ(happened.kept_states > 0, states);
  EXPECT_EQ(happened.evicted_states > 0, states);
  const bool windows = GetParam().kept == Kept::kWindows;
  EXPECT_EQ(happened.evicted_windows > 0, windows);
  EXPECT_EQ(happened.recomputed > 0, states || windows);
  EXPECT_GT(happened.abandoned, 0u);
  EXPECT_GT(happened.forks, 0u);
  EXPECT_GT(happened.cancels, 0u);
  EXPECT_GT(happened.closes, 0u);
  EXPECT_GT(happened.chunked, 0u);
  EXPECT_GT(happened.held_up, 0u);
  EXPECT_GT(happened.waits, 0u);
  EXPECT_GT(happened.rows, 0u);
  EXPECT_GT(happened.scores, 0u);
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  return std::string(kv_type_name(info.param.kv_type)) + "_shards_" +
         std::to_string(info.param.shards) +
         std::array{"", "_latents", "_states", "_windows"}[static_cast<size_t>(info.param.kept)];
}

INSTANTIATE_TEST_SUITE_P(Variants, Schedules,
                         testing::Values(Variant{KvType::kF32, 1}, Variant{KvType::kF16, 1},
                                         Variant{KvType::kBF16, 1}, Variant{KvType::kQ8_0, 1},
                                         Variant{KvType::kF16, 2}, Variant{KvType::kQ8_0, 2},
                                         Variant{KvType::kF16, 1, Kept::kLatents},
                                         Variant{KvType::kF16, 1, Kept::kStates},
                                         Variant{KvType::kF32, 2, Kept::kStates},
                                         Variant{KvType::kQ8_0, 2, Kept::kWindows}),
                         variant_name);

}  // namespace
}  // namespace hearth
