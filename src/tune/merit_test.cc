// Tests that the search for plans ends near the best of all plans after few trials. It sees
// measurements of made-up machines, but not the true costs that decide the trials.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cost/test_truths.h"
#include "models/test_source.h"
#include "tune/plan_search.h"
#include "tune/plan_workload.h"

namespace hearth {
namespace {

TestModel layers_of_4b() {
  LlamaShape shape = qwen3_4b_shape(2);
  shape.vocabulary = 32000;
  shape.context = 4096;
  return TestModel(shape);
}

// A machine of one node or more, with seats on all PUs. The last node may be slow.
struct Merit {
  Merit(MachineTruth machine_truth, Phase phase, double slow_node = 1)
      : truth(std::move(machine_truth)), slow(slow_node) {
    const Machine& machine = truth.machine;
    const auto nodes = static_cast<uint32_t>(machine.nodes.size());
    placed.placement =
        place_threads(machine, {.threads = static_cast<uint32_t>(machine.allowed_pus.size())});
    const Placement begun = place_threads(machine);
    const std::vector<uint32_t> begun_pus = begun.pus();
    placed.shares.assign(nodes, 1);
    std::vector<PlanGroup> groups(nodes);
    for (uint32_t n = 0; n < nodes; ++n) {
      placed.shard_nodes.push_back(n);
      groups[n] = {{}, {n, n + 1, 0, 1}};
    }
    for (uint32_t m = 0; m < placed.placement.seats.size(); ++m) {
      const Seat& seat = placed.placement.seats[m];
      placed.plan.member_shards.push_back(seat.node);
      if (std::ranges::count(begun_pus, seat.pu) > 0) groups[seat.node].members.push_back(m);
    }
    placed.plan.phase = phase;
    placed.plan.max_rows = phase == Phase::kDecode ? 16 : 512;
    placed.plan.groups = groups;
    table = assumed_bandwidth(machine);
    table.contention = measure_contention(machine, 0, truth.probe());
    for (uint32_t i = 0; i < nodes; ++i) {
      for (double& rate : table.read[i]) {
        rate *= full_read(*table.contention) / 100e9 * (i + 1 == nodes ? slow : 1);
      }
    }
    table.core_read = 1e9;
    // Reading limits decode at these rates, not arithmetic.
    table.core_ops = {20e9, 40e9, 40e9, 20e9};
  }

  // Returns the true time of a step under the plan. All shards have one size. A step takes as long
  // as its slowest node, and a little longer for each group.
  double cost(const Plan& plan) const {
    const auto nodes = static_cast<uint32_t>(truth.machine.nodes.size());
    double longest = 0;
    for (uint32_t n = 0; n < nodes; ++n) {
      std::vector<uint32_t> threads, row = cores_in_row(truth.machine, n);
      for (uint32_t core : row) {
        auto sits = [&](uint32_t m) { return placed.placement.seats[m].core == core; };
        threads.push_back(
            static_cast<uint32_t>(std::ranges::count_if(plan.working_members(), sits)));
      }
      double rate = plan.phase == Phase::kDecode ? truth.read(threads) : truth.ops(threads);
      if (n + 1 == nodes && plan.phase == Phase::kDecode) rate *= slow;
      longest = std::max(longest, rate > 0 ? 1e9 / rate : 10);
    }
    return longest * (1 + 0.002 * plan.group_count());
  }

  PlanSpace space(const ModelSpec& spec) const {
    return {placed.placement, placed.plan, max_groups_on(spec, placed.shares, placed.plan),
            default_thread_count(truth.machine)};
  }

  MachineTruth truth;
  double slow;
  PlacedPlan placed;
  BandwidthTable table;
};

struct MeritCase {
  const char* name;
  Merit merit;
};

// The plan that prediction ranks first, and of all ranked plans the one that is best on the
// machine.
struct Ranked {
  Plan first, best;
};
// Expects that one of the ranked plans is nearly as fast as the best of all plans.
Ranked expect_near_the_best(const MeritCase& of) {
  const TestModel model = layers_of_4b();
  const Merit& merit = of.merit;
  const PlanSpace space = merit.space(model.spec());
  const PlanWorkload work{merit.placed.plan.phase == Phase::kDecode
                              ? std::vector<StepShape>{{1, 256}, {4, 256}}
                              : std::vector<StepShape>{{512, 0}}};
  const Machine& machine = merit.truth.machine;
  const PlanSearchResult ranked = search_plans(
      machine, space, predicted_cost(machine, merit.table, model.spec(), merit.placed, work));
  auto truth = [&](const Plan& plan) { return merit.cost(plan); };
  const PlanSearchResult all =
      search_plans(machine, space, truth, {.patience = 0, .cuts_removals = false, .keep = 1});
  const Plan* best = &space.start;
  for (const PlanTrial& trial : ranked.best) {
    if (truth(trial.plan) < truth(*best)) best = &trial.plan;
  }
  std::printf(
      "%-28s %-8s %5zu plans, %4zu predicted, %2zu tried (%.1f %%): %.4f of the start's "
      "time, the best of all %.4f\n",
      of.name, phase_name(merit.placed.plan.phase), size_t{all.evaluations},
      size_t{ranked.evaluations}, ranked.best.size(),
      100.0 * static_cast<double>(ranked.best.size()) / static_cast<double>(all.evaluations),
      truth(*best) / truth(space.start), all.best[0].cost / truth(space.start));
  EXPECT_LE(truth(*best), 1.03 * all.best[0].cost) << of.name;
  EXPECT_LE(static_cast<double>(ranked.best.size()), 0.15 * static_cast<double>(all.evaluations))
      << of.name;
  return {ranked.best[0].plan, *best};
}

TEST(Merit, OneOfFourRestsWhereFourHaveAPortForThree) {
  for (const char* description : {"numa:1 core:16 pu:1", "numa:1 core:24 pu:1"}) {
    const MeritCase of{"a port for three of four", {port_truth(description), Phase::kDecode}};
    const size_t three_of_four = of.merit.truth.machine.cores.size() / 4 * 3;
    const Ranked ranked = expect_near_the_best(of);
    EXPECT_EQ(ranked.first.worker_count(), three_of_four) << description;
    EXPECT_EQ(ranked.best.worker_count(), three_of_four) << description;
  }
}

TEST(Merit, OneOfTwoRestsWhereTwoShareATag) {
  const MeritCase of{"a tag for two", {tag_truth("numa:1 core:16 pu:1"), Phase::kDecode}};
  EXPECT_EQ(expect_near_the_best(of).best.worker_count(), 8u);
}

TEST(Merit, SecondThreadsWorkInPromptsAndRestInDecode) {
  const MeritCase prompts{"second threads",
                          {threads_truth("numa:1 core:12 pu:2"), Phase::kPrefill}};
  EXPECT_EQ(expect_near_the_best(prompts).best.worker_count(), 22u);
  const MeritCase decode{"second threads", {threads_truth("numa:1 core:12 pu:2"), Phase::kDecode}};
  EXPECT_EQ(expect_near_the_best(decode).best.worker_count(), 11u);
}

TEST(Merit, ASlowNodeKeepsItsThreads) {
  const MeritCase of{"a slow node", {port_truth("numa:2 core:8 pu:1"), Phase::kDecode, 0.6}};
  const Plan best = expect_near_the_best(of).best;
  EXPECT_LE(best.worker_count(), 13u) << "of the other node's cores more may rest";
  EXPECT_GE(best.worker_count(), 12u);
}

// Plans with resting threads are tried even without a measurement of what cores lose by working at
// the same time.
TEST(Merit, TriesRestingPlansWithoutAContentionTable) {
  const TestModel model = layers_of_4b();
  const Merit merit(threads_truth("numa:1 core:12 pu:2"), Phase::kDecode);
  std::set<uint32_t> workers;
  for (const Plan& plan : resting_plans(merit.space(model.spec()))) {
    workers.insert(plan.worker_count());
    EXPECT_EQ(plan.group_count(), 1u);
  }
  EXPECT_EQ(workers, (std::set<uint32_t>{6, 8, 9, 12, 16, 18, 22}));
}

}  // namespace
}  // namespace hearth
