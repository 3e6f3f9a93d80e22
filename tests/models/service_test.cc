// Tests of the service and its clients, in threads of their own. Clients submit, read, cancel and
// vanish at random, and all others get the same results as alone.
#include "engine/service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr int kRequestsPerClient = 12;
#else
constexpr int kRequestsPerClient = 60;
#endif

constexpr uint32_t kVocabulary = 80;
// The limit for a test that hangs; nothing here depends on how long things take.
constexpr std::chrono::hours kLong{1};

class ServiceTest : public testing::Test {
 protected:
  EngineOptions options() const {
    EngineOptions options;
    options.threads = 2;
    options.context = 192;
    options.kv_pages = 8;
    options.prefill_rows = 64;
    options.outputs = 6;
    return options;
  }
  Service::Load load() const {
    return [this] { return tiny_engine(file_, options()); };
  }
  static Request text(std::mt19937& random, uint32_t prompt, uint32_t max_tokens) {
    Request request;
    request.prompt = random_tokens(random, prompt, kVocabulary);
    request.max_tokens = max_tokens;
    request.logprobs = true;
    request.sampling.temperature = 1;
    request.sampling.seed = random();
    return request;
  }
  // Returns a request that goes on until its context is full.
  static Request endless(std::mt19937& random) { return text(random, 5, 0); }
  // Reads all results up to the last one.
  static std::vector<Result> read_all(ResultStream& stream) {
    std::vector<Result> results;
    while (results.empty() || !results.back().finish) {
      std::optional<Result> result = stream.pop(kLong);
      if (!result) break;
      results.push_back(std::move(*result));
    }
    return results;
  }

  ModelSource file_ = parse_gguf(tiny_llama(kTiniest), "tiny");
};

struct Dish {
  Request request;
  Alone alone;
};

// A client's thread. It has several requests at a time, each on its own stream or all on one.
class Client {
 public:
  struct Counts {
    uint64_t complete = 0, cancelled = 0, closed = 0;
  };

  Client(Service& service, const std::vector<Dish>& menu, uint32_t seed)
      : service_(service), menu_(menu), random_(seed) {}

  void run() {
    for (int asked = 0; asked < kRequestsPerClient || !orders_.empty();) {
      if (asked < kRequestsPerClient && orders_.size() < 4 && random_() % 2 == 0) {
        submit();
        ++asked;
      }
      if (orders_.empty()) continue;
      auto order = std::next(orders_.begin(), random_() % orders_.size());
      Order& chosen = order->second;
      if (random_() % 40 == 0) chosen.job.cancel();
      if (random_() % 60 == 0) {
        // Closes the stream in half of the cases, and otherwise only destroys the handle.
        if (random_() % 2 == 0) chosen.stream->close();
        ++counts_.closed;
        orders_.erase(order);
        continue;
      }
      std::optional<Result> result = chosen.stream->pop(kLong);
      if (!result) return fail("no result came");
      if (take(*result, &chosen)) orders_.erase(order);
      if (!failure_.empty()) return;
    }
  }
  const Counts& counts() const { return counts_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Order {
    const Dish* dish;
    std::shared_ptr<ResultStream> stream;
    JobHandle job;
    std::vector<uint32_t> received;
    uint32_t open_choices;
  };

  void fail(std::string why) { failure_ = std::move(why); }

  void submit() {
    const Dish& dish = menu_[random_() % menu_.size()];
    auto stream = std::make_shared<ResultStream>(3 + random_() % 8);
    JobHandle job = service_.submit(dish.request, stream);
    uint64_t id = job.id();
    orders_[id] = {&dish, std::move(stream), std::move(job),
                   std::vector<uint32_t>(dish.request.choices), dish.request.choices};
  }

  // Returns true for the order's last result.
  bool take(const Result& result, Order* order) {
    if (result.request != order->job.id()) fail("another's result");
    uint32_t index = order->received[result.choice]++;
    const Alone::Choice* alone =
        order->dish->alone.choices.empty() ? nullptr : &order->dish->alone.choices[result.choice];
    size_t results = alone != nullptr ? alone->tokens.size() : order->dish->alone.rows.size();
    if (index >= results && result.finish != Finish::kCancelled) {
      fail("more results than alone");
    } else if (result.has_token()) {
      const TokenAlone& expected = alone->tokens[index];
      if (result.token != expected.token || result.logprob != expected.logprob) {
        fail("another token than alone");
      }
    } else if (!result.row.empty()) {
      if (result.row != order->dish->alone.rows[index]) fail("another row than alone");
    } else if (result.finish != Finish::kCancelled) {
      fail("an empty result");
    }
    if (!result.finish) return false;
    if (result.finish == Finish::kCancelled) {
      ++counts_.cancelled;
    } else if (result.finish == Finish::kFailed) {
      fail(result.error);
    } else {
      ++counts_.complete;
    }
    return --order->open_choices == 0;
  }

  Service& service_;
  const std::vector<Dish>& menu_;
  std::mt19937 random_;
  std::map<uint64_t, Order> orders_;
  Counts counts_;
  std::string failure_;
};

TEST_F(ServiceTest, ClientsComeAndGoAndGetWhatTheyGetAlone) {
  std::vector<Dish> menu;
  {
    auto engine = tiny_engine(file_, options());
    std::mt19937 random(2);
    for (int i = 0; i < 16; ++i) {
      Request request = text(random, 1 + random() % 150, 1 + random() % 20);
      if (i > 4)
        std::copy_n(menu[0].request.prompt.begin(),
                    std::min(menu[0].request.prompt.size(), request.prompt.size()),
                    request.prompt.begin());
      if (i % 4 == 1) request.choices = 3;
      if (i % 8 == 2) request.deliver = Deliver::kLogits;
      if (i % 8 == 6) request.deliver = Deliver::kHidden;
      Alone alone = get_alone(*engine, request);
      menu.push_back({std::move(request), std::move(alone)});
    }
  }
  Service service(load(), nullptr, {});
  std::vector<std::unique_ptr<Client>> clients;
  for (uint32_t i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(service, menu, i));
  std::vector<std::thread> threads;
  for (auto& client : clients) threads.emplace_back([&client] { client->run(); });
  // Figures may be read at any time.
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    uint64_t steps = 0;
    while (!done) {
      uint64_t now = service.statistics().steps;
      EXPECT_GE(now, steps);
      steps = now;
      EXPECT_LE(service.statistics().available_pages, 8u);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  Client::Counts all;
  for (const auto& client : clients) {
    EXPECT_EQ(client->failure(), "");
    all.complete += client->counts().complete;
    all.cancelled += client->counts().cancelled;
    all.closed += client->counts().closed;
  }
  EXPECT_EQ(service.statistics().requests, 4u * kRequestsPerClient);
  EXPECT_GE(service.statistics().finished_choices, all.complete + all.cancelled);
  EXPECT_GT(all.complete, 0u);
  EXPECT_GT(all.cancelled + all.closed, 0u);
}

TEST_F(ServiceTest, AnEndGivesEveryChoiceItsLastResult) {
  std::mt19937 random(3);
  Request request = endless(random);
  request.choices = 2;
  std::vector<std::shared_ptr<ResultStream>> streams;
  std::vector<JobHandle> jobs;  // these live on after the service
  {
    Service service(load(), nullptr, {});
    for (int i = 0; i < 9; ++i) {
      streams.push_back(std::make_shared<ResultStream>(4));
      jobs.push_back(service.submit(request, streams.back()));
    }
    // Some texts run by now, some wait and some are held up. This one has produced a result for
    // sure.
    ASSERT_TRUE(streams[0]->pop(kLong));
  }
  for (const auto& stream : streams) {
    int ends = 0;
    while (std::optional<Result> result = stream->try_pop()) {
      if (!result->finish) continue;
      EXPECT_EQ(result->finish, Finish::kCancelled);
      ++ends;
    }
    EXPECT_EQ(ends, 2);
  }
}

TEST_F(ServiceTest, AnIdleOneEnds) { Service service(load(), nullptr, {}); }

TEST_F(ServiceTest, ReportsAFailedLoad) {
  auto refuse = []() -> std::unique_ptr<Engine> { fail(ErrorCode::kResource, "no memory for it"); };
  try {
    Service service(refuse, nullptr, {});
    FAIL() << "it serves";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResource);
    EXPECT_STREQ(error.what(), "no memory for it");
  }
}

TEST_F(ServiceTest, AStreamServesManyRequests) {
  std::mt19937 random(4);
  Service service(load(), nullptr, {});
  auto stream = std::make_shared<ResultStream>(3);
  std::map<uint64_t, uint32_t> received;
  std::vector<JobHandle> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(service.submit(text(random, 20, 10), stream));
    received[jobs.back().id()] = 0;
  }
  for (uint32_t ends = 0; ends < 5;) {
    std::optional<Result> result = stream->pop(kLong);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->index, received[result->request]++);
    ends += result->finish.has_value();
  }
  for (auto [id, count] : received) EXPECT_EQ(count, 10u);
}

TEST_F(ServiceTest, CancelledRequestsEnd) {
  std::mt19937 random(5);
  Service service(load(), nullptr, {});
  auto reads = std::make_shared<ResultStream>(), asleep = std::make_shared<ResultStream>(1);
  JobHandle first = service.submit(endless(random), reads);
  JobHandle second = service.submit(endless(random), asleep);
  ASSERT_TRUE(reads->pop(kLong));
  first.cancel();
  second.cancel();
  std::vector<Result> results = read_all(*reads);
  EXPECT_TRUE(results.back().finish == Finish::kCancelled ||
              results.back().finish == Finish::kContext);
  EXPECT_EQ(read_all(*asleep).back().finish, Finish::kCancelled) << "it had room for one token";
}

// The remaining client finds the place and the pages free. The figures are those of the step that
// gave its result.
TEST_F(ServiceTest, DestroyingTheHandleEndsARequestWithAnOpenStream) {
  std::mt19937 random(8);
  ServiceOptions options;
  options.scheduler.max_running = 2;
  options.max_waiting = 1;
  Service service(load(), nullptr, options);
  auto left = std::make_shared<ResultStream>(1), dropped = std::make_shared<ResultStream>(1);
  {
    JobHandle one = service.submit(text(random, 150, 0), left);
    ASSERT_TRUE(left->pop(kLong));
    JobHandle other = service.submit(text(random, 150, 0), dropped);
    ASSERT_TRUE(dropped->pop(kLong));
    dropped.reset();
  }
  auto stream = std::make_shared<ResultStream>();
  JobHandle last = service.submit(endless(random), stream);
  ASSERT_TRUE(stream->pop(kLong));
  EXPECT_EQ(service.statistics().running, 1u);
  EXPECT_EQ(service.statistics().waiting, 0u);
  EXPECT_EQ(service.statistics().cancelled_choices, 2u);
  EXPECT_GE(service.statistics().available_pages, 5u) << "a context has three of eight pages";
  EXPECT_EQ(read_all(*left).back().finish, Finish::kCancelled);
}

TEST_F(ServiceTest, AHandleOutlivesTheService) {
  std::mt19937 random(10);
  JobHandle job;
  auto stream = std::make_shared<ResultStream>();
  {
    Service service(load(), nullptr, {});
    job = service.submit(endless(random), stream);
  }
  job.cancel();
  EXPECT_EQ(read_all(*stream).back().finish, Finish::kCancelled);
}

// A client without a thread of its own. It is notified, pops, asks for more and ends itself.
TEST_F(ServiceTest, ANotifiedClientNeedsNoThread) {
  struct Chat {
    std::shared_ptr<ResultStream> stream = std::make_shared<ResultStream>();
    JobHandle job;
    int rounds = 0;
    size_t tokens = 0;
  };
  std::mt19937 random(11);
  std::promise<void> done;
  Service service(load(), nullptr, {});
  auto chat = std::make_shared<Chat>();
  chat->stream->set_on_results([&, chat] {
    bool over = false;
    while (std::optional<Result> result = chat->stream->try_pop()) {
      ++chat->tokens;
      over = result->finish.has_value();
    }
    if (!over) return;
    if (++chat->rounds < 3) {
      chat->job = service.submit(text(random, 20, 7), chat->stream);
    } else {
      chat->stream->close();
      done.set_value();
    }
  });
  // This handle is not in `chat`, since the notified thread writes chat->job.
  JobHandle first = service.submit(text(random, 20, 7), chat->stream);
  done.get_future().get();
  EXPECT_EQ(chat->tokens, 21u);
}

TEST_F(ServiceTest, RefusesRequestsBeyondTheQueue) {
  std::mt19937 random(6);
  ServiceOptions options;
  options.max_waiting = 2;
  options.scheduler.max_running = 1;
  // The service's thread stands still in the middle of a step.
  std::mutex mutex;
  std::condition_variable changed;
  bool inside = false, go_on = false;
  options.scheduler.clock = [&] {
    std::unique_lock lock(mutex);
    inside = true;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    return 0.0;
  };
  Service service(load(), nullptr, options);
  auto release = [&] {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  };
  // This releases the step before the service is destroyed, however the test ends.
  std::shared_ptr<void> at_end(nullptr, [&](void*) { release(); });
  std::vector<std::shared_ptr<ResultStream>> streams;
  std::vector<JobHandle> jobs;
  auto submit = [&] {
    streams.push_back(std::make_shared<ResultStream>());
    jobs.push_back(service.submit(text(random, 10, 3), streams.back()));
  };
  submit();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  EXPECT_EQ(service.statistics().running, 1u);
  submit();
  submit();
  try {
    submit();
    FAIL() << "a third waits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBusy);
    EXPECT_NE(std::string(error.what()).find("2 requests are already waiting"), std::string::npos);
    streams.pop_back();
  }
  release();
  for (const auto& stream : streams) EXPECT_EQ(read_all(*stream).size(), 3u);
}

TEST_F(ServiceTest, RefusesInvalidRequests) {
  Service service(load(), nullptr, {});
  EXPECT_THROW(JobHandle job = service.submit(Request{}, std::make_shared<ResultStream>()), Error);
  EXPECT_EQ(service.statistics().requests, 0u);
  EXPECT_EQ(service.engine().context(), 192u);
}

TEST_F(ServiceTest, AStepThatThrowsEndsRequestsUnderWayOnly) {
  std::mt19937 random(7);
  ServiceOptions options;
  std::atomic<bool> fails{true};
  options.scheduler.clock = [&] {
    if (fails) throw std::runtime_error("no memory");
    return 0.0;
  };
  Service service(load(), nullptr, options);
  auto stream = std::make_shared<ResultStream>(2);
  for (int i = 0; i < 3; ++i) {
    JobHandle job = service.submit(text(random, 10, 3), stream);
    std::vector<Result> results = read_all(*stream);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].finish, Finish::kFailed);
    EXPECT_EQ(results[0].error, "no memory");
  }
  fails = false;
  JobHandle job = service.submit(text(random, 10, 3), stream);
  EXPECT_EQ(read_all(*stream).size(), 3u);
  EXPECT_EQ(service.statistics().failed_choices, 3u);
}

}  // namespace
}  // namespace hearth
