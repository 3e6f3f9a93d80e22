// Tests of CPU pools as devices. A pool gives the vectors of an Embedder, by itself or beside other
// pools, under a queue manager, and on invented machines.
#include "embed/cpu_pool.h"

#include <gtest/gtest.h>

#include <future>

#include "base/error.h"
#include "embed/embed_setup.h"
#include "formats/gguf.h"
#include "tiny_engine.h"

namespace hearth {
namespace {

class CpuPoolTest : public testing::Test {
 protected:
  CpuPoolTest()
      : file_(parse_gguf(tiny_bert({.heads = 4, .ffn = 128}), "tiny")), spec_(make_spec(file_)) {
    std::mt19937 random(1);
    for (size_t i = 0; i < 40; ++i) {
      queries_.push_back({"", random_tokens(random, 1 + random() % 60, 80)});
    }
  }

  PoolsOptions options() const {
    PoolsOptions options;
    options.engine.context = 128;
    options.engine.prefill_rows = 128;
    options.engine = embed_engine_options(spec_, PoolingType::kMean, options.engine);
    return options;
  }
  MakeEngine maker(const Machine& machine) const {
    return [this, &machine](const EngineOptions& engine) {
      return std::make_unique<Engine>(file_, spec_, machine,
                                      available_isas(detect_cpu_features()).back(), engine);
    };
  }
  CpuPools make(const Machine& machine, PoolSplit split) const {
    PoolsOptions of = options();
    of.split = split;
    return make_cpu_pools(machine, of, maker(machine));
  }
  std::vector<EmbedVector> run(CpuPool& pool, size_t first, size_t count) const {
    std::vector<const EmbedQuery*> batch;
    for (size_t i = 0; i < count; ++i) batch.push_back(&queries_[first + i]);
    return pool.run(batch);
  }
  SetupOptions setup_options() const {
    SetupOptions setup;
    setup.pools = options();
    return setup;
  }
  // Makes a query of any text; its tokens are its bytes.
  static EmbedQuery query_of(std::string_view text) {
    EmbedQuery query{std::string(text), {}};
    for (char c : text.substr(0, 100)) query.tokens.push_back(static_cast<uint8_t>(c) % 80);
    return query;
  }

  ModelSource file_;
  ModelSpec spec_;
  std::vector<EmbedQuery> queries_;
};

// A pool on the whole machine uses the results of `hearth tune`.
TEST_F(CpuPoolTest, APoolThatMaySitAnywhereWorksByWhatIsTuned) {
  const Machine one = Machine::invented(1, 4);
  PoolsOptions of = options();
  auto tuned = [&](const Machine& machine) { return pool_engines(machine, of)[0].tuned; };
  EXPECT_EQ(tuned(one), TunedUse::kWhole);
  EXPECT_EQ(tuned(Machine::invented(2, 2)), TunedUse::kWhereOpen) << "one of two";
  of.where.threads = 2;
  EXPECT_EQ(tuned(one), TunedUse::kWhereOpen);
  of.where = {};
  of.engine.tuned = TunedUse::kNever;
  EXPECT_EQ(tuned(one), TunedUse::kNever);
}

TEST_F(CpuPoolTest, PoolsOfAllNodesGiveTheSameBits) {
  Machine machine = Machine::invented(4, 2);
  CpuPools four = make(machine, PoolSplit::kNodes);
  ASSERT_EQ(four.pools.size(), 4u);
  EXPECT_EQ(four.pools[2]->name(), "cpu2");
  std::vector<EmbedVector> expected = run(*four.pools[0], 0, queries_.size());
  ASSERT_EQ(expected.size(), queries_.size());
  std::vector<std::future<std::vector<EmbedVector>>> parts;
  for (size_t p = 0; p < 4; ++p) {
    parts.push_back(
        std::async(std::launch::async, [&, p] { return run(*four.pools[p], p * 10, 10); }));
  }
  for (size_t p = 0; p < 4; ++p) {
    std::vector<EmbedVector> got = parts[p].get();
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected[p * 10 + i]);
  }
}

TEST_F(CpuPoolTest, OnePoolOfAllNodesIsCutOverThem) {
  Machine machine = Machine::invented(4, 2);
  CpuPools one = make(machine, PoolSplit::kOne);
  ASSERT_EQ(one.pools.size(), 1u);
  EXPECT_EQ(one.pools[0]->name(), "cpu");
  EXPECT_EQ(one.pools[0]->engine().options().shards, 4u);
  EXPECT_EQ(run(*one.pools[0], 0, 3).size(), 3u);
}

TEST_F(CpuPoolTest, TheBetterSplitIsMeasured) {
  Machine machine = Machine::invented(2, 1);
  CpuPools pools = make_cpu_pools(machine, options(), maker(machine));
  EXPECT_GT(pools.nodes_rate, 0);
  EXPECT_GT(pools.one_rate, 0);
  EXPECT_EQ(pools.split == PoolSplit::kOne, pools.one_rate > pools.nodes_rate);
  EXPECT_EQ(pools.pools.size(), pools.split == PoolSplit::kOne ? 1u : 2u);
}

TEST_F(CpuPoolTest, SaysWhyATextIsRefused) {
  Machine machine = Machine::invented(1, 2);
  CpuPools made = make(machine, PoolSplit::kOne);
  EmbedQuery empty, fine = queries_[0];
  const EmbedQuery* batch[] = {&fine, &empty};
  try {
    made.pools[0]->run(batch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRequest);
  }
  // The pool still works after the refused batch.
  EXPECT_EQ(run(*made.pools[0], 0, 1).size(), 1u);
}

TEST_F(CpuPoolTest, ReportsFailedLoading) {
  auto load = []() -> std::unique_ptr<Engine> { fail(ErrorCode::kResource, "no memory"); };
  EXPECT_THROW(CpuPool("cpu", load, {}), Error);
}

// Every query is answered with its own vector, whichever device computed it.
TEST_F(CpuPoolTest, WorksUnderAQueueManager) {
  Machine machine = Machine::invented(2, 1);
  SetupOptions asked = setup_options();
  asked.devices = {"cpu:nodes=0", "cpu:nodes=1,threads=1,name=second"};
  SteadyClock clock;
  EmbedSetup setup = set_up_devices(machine, asked, maker(machine), query_of, clock);
  require_queue(setup);
  ASSERT_EQ(setup.queues.size(), 2u);
  EXPECT_EQ(setup.reports[1].name, "second");
  EXPECT_EQ(setup.context, 128u);
  EXPECT_FALSE(setup.texts);
  CpuPools alone = make(Machine::invented(1, 1), PoolSplit::kOne);
  std::vector<EmbedVector> expected = run(*alone.pools[0], 0, queries_.size());
  std::vector<EmbedOutcome> outcomes(queries_.size());
  {
    QueueManager manager(std::move(setup.queues), {}, clock, queries_[0]);
    std::vector<std::promise<void>> done(queries_.size());
    for (size_t i = 0; i < queries_.size(); ++i) {
      manager.submit_waiting(queries_[i], [&, i](EmbedOutcome outcome) {
        outcomes[i] = std::move(outcome);
        done[i].set_value();
      });
    }
    for (std::promise<void>& one : done) one.get_future().wait();
  }
  for (size_t i = 0; i < queries_.size(); ++i) {
    ASSERT_FALSE(outcomes[i].error) << outcomes[i].error->what();
    EXPECT_EQ(outcomes[i].vector, expected[i]);
  }
}

TEST_F(CpuPoolTest, ReadsWhatASpecSays) {
  Machine machine = Machine::invented(4, 2);
  PlacementOptions where =
      pool_placement(parse_device_spec("cpu:nodes=0-1+3,threads=5"), machine, {});
  EXPECT_EQ(where.nodes, (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_EQ(where.threads, 5u);
  EXPECT_EQ(pool_placement(parse_device_spec("cpu:cpus=0+2-4"), machine, {}).pus,
            (std::vector<uint32_t>{0, 2, 3, 4}));
  for (const char* bad :
       {"cpu:nodes=9", "cpu:nodes=", "cpu:nodes=0.1", "cpu:threads=0", "cpu:threads=1-2",
        "cpu:cores=1", "cpu:cpus=1-", "cpu:cpus=x", "cpu:cpus=3-1"}) {
    EXPECT_THROW(pool_placement(parse_device_spec(bad), machine, {}), Error) << bad;
  }
}

// A simulated accelerator that computes another model is left out with a message, and pools of
// cores still work.
TEST_F(CpuPoolTest, DevicesOfAnotherModelAreLeftOut) {
  Machine machine = Machine::invented(1, 1);
  SetupOptions asked = setup_options();
  asked.devices = {"sim:alpha=0.0001,beta=0.0001,width=64,kind=cpu", "cpu"};
  SteadyClock clock;
  std::vector<std::string> warnings;
  Listener listener;
  listener.warn = [&](const std::string& text) { warnings.push_back(text); };
  EmbedSetup setup = set_up_devices(machine, asked, maker(machine), query_of, clock, listener);
  EXPECT_EQ(setup.queues.size(), 1u);
  EXPECT_FALSE(setup.reports[0].queue);
  EXPECT_TRUE(setup.reports[1].queue);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].find("sim is not used: it embeds texts differently from cpu"), 0u)
      << warnings[0];
}

// Only accelerators have queues here, so that pools are not even loaded.
TEST_F(CpuPoolTest, PoolsWithoutAQueueAreNotLoaded) {
  Machine machine = Machine::invented(1, 1);
  SetupOptions asked = setup_options();
  asked.devices = {"cpu", "sim:alpha=0.0001,beta=0.0001"};
  SteadyClock clock;
  auto never = [](const EngineOptions&) -> std::unique_ptr<Engine> {
    throw std::logic_error("was loaded");
  };
  EmbedSetup setup = set_up_devices(machine, asked, never, query_of, clock);
  ASSERT_EQ(setup.queues.size(), 1u);
  EXPECT_EQ(setup.reports[0].queue, false);
  EXPECT_NE(setup.reports[0].why.find("--offload"), std::string::npos);
}

TEST_F(CpuPoolTest, AnObjectiveGivesDepths) {
  Machine machine = Machine::invented(1, 1);
  SetupOptions asked = setup_options();
  asked.slo = 0.05;
  SteadyClock clock;
  asked.devices = {"sim:alpha=0.004,beta=0.01,kind=cpu", "sim:alpha=0.06,kind=cpu"};
  EmbedSetup setup = set_up_devices(machine, asked, {}, query_of, clock);
  ASSERT_EQ(setup.reports.size(), 2u);
  EXPECT_TRUE(setup.reports[0].queue);
  EXPECT_GE(setup.queues[0].slots, 75u);
  // A single text takes longer than the objective.
  EXPECT_FALSE(setup.reports[1].queue);
}

}  // namespace
}  // namespace hearth
