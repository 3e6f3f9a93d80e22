#include "tune/plan_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "models/test_source.h"
#include "tune/plan_tuner.h"
#include "tune/plan_workload.h"
#include "tune/whole_team.h"

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

// Returns a model with so many layers of Qwen3 4B.
TestModel model_of(uint32_t layers) { return TestModel(qwen3_4b_shape(layers)); }

// Places an engine as by default: with a thread on each core except a spare one, and a shard on
// each node.
PlacedPlan placed_on(const Machine& machine, Phase phase, uint32_t threads = 0) {
  PlacedPlan placed;
  placed.placement = place_threads(machine, {.threads = threads});
  Numbers member_shards;
  for (const Placement::NodeSeats& seats : placed.placement.by_node()) {
    member_shards.insert(member_shards.end(), seats.count,
                         static_cast<uint32_t>(placed.shard_nodes.size()));
    placed.shard_nodes.push_back(seats.node);
  }
  const auto shards = static_cast<uint32_t>(placed.shard_nodes.size());
  placed.shares.assign(shards, 1);
  placed.plan = make_plan(phase, phase == Phase::kDecode ? 16 : 512, member_shards, shards, shards);
  return placed;
}

PlanWorkload workload_of(const Plan& plan) {
  if (plan.phase == Phase::kPrefill) return {{{128, 0}, {512, 0}, {512, 512}}};
  return {{{1, 512}, {4, 512}, {16, 512}}};
}

PlanSpace space_of(const ModelSpec& spec, const PlacedPlan& placed) {
  return {placed.placement, placed.plan, max_groups_on(spec, placed.shares, placed.plan)};
}

Numbers pus_of(const Plan& plan, const Placement& placement) {
  Numbers pus;
  for (uint32_t m : plan.working_members()) pus.push_back(placement.seats[m].pu);
  std::sort(pus.begin(), pus.end());
  return pus;
}

TEST(PlanSpace, PartitionsBecomePlans) {
  const Machine machine = Machine::from_synthetic("numa:3 core:4 pu:1");
  const TestModel model = model_of(1);
  const PlacedPlan placed = placed_on(machine, Phase::kDecode, 12);
  const PlanSpace space = space_of(model.spec(), placed);
  EXPECT_EQ(space.max_groups.size(), 3u);
  auto groups = [&](const TopoTree::Partition& partition) {
    std::optional<Plan> plan = space.plan_of(partition);
    return plan ? plan->groups : std::vector<PlanGroup>();
  };
  using Groups = std::vector<PlanGroup>;
  EXPECT_EQ(groups({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}), placed.plan.groups);
  EXPECT_EQ(groups({{0, 1, 4, 5}, {8, 9}, {10}}),
            (Groups{{{0, 1, 4, 5}, {0, 2, 0, 1}}, {{8, 9}, {2, 3, 0, 2}}, {{10}, {2, 3, 1, 2}}}));
  EXPECT_EQ(groups({{0, 2}, {1, 3}, {4}, {8}}), (Groups{{{0, 2}, {0, 1, 0, 2}},
                                                        {{1, 3}, {0, 1, 1, 2}},
                                                        {{4}, {1, 2, 0, 1}},
                                                        {{8}, {2, 3, 0, 1}}}));
  // A shard without working threads goes to the group before it, or else to the one behind it.
  EXPECT_EQ(groups({{0, 1}, {8}}), (Groups{{{0, 1}, {0, 2, 0, 1}}, {{8}, {2, 3, 0, 1}}}));
  EXPECT_EQ(groups({{5}}), (Groups{{{5}, {0, 3, 0, 1}}}));
  EXPECT_EQ(groups({{4}, {9, 10}}), (Groups{{{4}, {0, 2, 0, 1}}, {{9, 10}, {2, 3, 0, 1}}}));
  EXPECT_EQ(groups({{4}, {5}, {9}}), Groups()) << "two groups cannot take a second shard";
  EXPECT_EQ(groups({{0}, {4}, {5}}), Groups());
  EXPECT_EQ(groups({{0, 4}, {1, 5}, {8}}), Groups()) << "two groups on the same two shards";
  EXPECT_EQ(groups({{0, 8}, {4}}), Groups()) << "another's shard in between";
}

TEST(PlanSpace, NoGroupIsWithoutHeads) {
  const TestModel few(LlamaShape{.heads = 4, .kv_heads = 2, .key_length = 32, .value_length = 32});
  const Plan one = even_plan(Phase::kDecode, 16, 1, 1, 8);
  const uint32_t most = max_groups_on(few.spec(), {1}, one)[0];
  EXPECT_GE(most, 2u);
  EXPECT_LE(most, 4u);
  EXPECT_EQ(max_groups_on(model_of(1).spec(), {1}, one), (Numbers{8}));
}

TEST(PlanSpace, LatentsHaveAsManyGroupsAsByDefault) {
  const TestModel model(latent_source({}));
  for (uint32_t groups : {1u, 2u}) {
    const Plan start = even_plan(Phase::kDecode, 16, 1, groups, 8);
    EXPECT_EQ(max_groups_on(model.spec(), {1}, start), (Numbers{groups}));
  }
}

TEST(PlanSearch, PlansThatRestAreRankedWhereNothingTellsWhatCoresLose) {
  const TestModel model = model_of(1);
  const Machine machine = Machine::from_synthetic("numa:1 core:16 pu:2");
  const EnginePlan plan = with_all_pus(machine, plan_engine(machine, {}));
  const PlanRanking ranking =
      rank_plans(machine, assumed_bandwidth(machine), model.spec(), plan, Phase::kDecode, {}, 16);
  const std::vector<PlanTrial>& best = ranking.search.best;
  EXPECT_EQ(best.size(), 10u);
  const std::vector<Plan> resting = resting_plans(ranking.space);
  EXPECT_GE(resting.size(), 6u);
  for (const Plan& plan_that_rests : resting) {
    EXPECT_EQ(std::ranges::count(best, plan_that_rests, &PlanTrial::plan), 1);
  }
}

// Here cores form clusters of four, which the tree does not have. The cores of a cluster share a
// port that serves three cores; a fourth one slows all of them down. The cost follows from the rate
// of all ports together, and grows a little with each group.
PlanCost ports_for_three(const Placement& placement, uint32_t (*cluster)(uint32_t pu)) {
  return [&placement, cluster](const Plan& plan) {
    std::map<uint32_t, uint32_t> busy;
    for (uint32_t pu : pus_of(plan, placement)) ++busy[cluster(pu)];
    double rate = 0;
    for (auto [port, cores] : busy) rate += cores <= 3 ? cores : 2.4;
    return (1 + 0.001 * plan.group_count()) / rate;
  };
}

TEST(PlanSearch, OneInFourIsRestedWhereFourHaveAPortForThree) {
  const TestModel model = model_of(1);
  for (const char* description : {"numa:1 core:16 pu:1", "numa:1 core:48 pu:1",
                                  "pack:2 numa:1 core:24 pu:1", "numa:2 l3:2 core:8 pu:1"}) {
    const Machine machine = Machine::from_synthetic(description);
    const PlacedPlan placed = placed_on(machine, Phase::kDecode, machine.allowed_core_count());
    const PlanSpace space = space_of(model.spec(), placed);
    const PlanSearchResult found = search_plans(
        machine, space, ports_for_three(placed.placement, [](uint32_t pu) { return pu / 4; }));
    std::map<uint32_t, uint32_t> busy;
    for (uint32_t pu : pus_of(found.best[0].plan, placed.placement)) ++busy[pu / 4];
    EXPECT_EQ(busy.size(), machine.cores.size() / 4) << description;
    for (auto [port, cores] : busy) EXPECT_EQ(cores, 3u) << description << ", port " << port;
    EXPECT_LT(found.best[0].cost, 0.81 * found.start_cost);
  }
}

// Places an engine on one node with seats for all PUs, as tuning does. In the start plan, only the
// threads of the default plan work.
PlacedPlan whole_on(const Machine& machine, Phase phase) {
  PlacedPlan placed = placed_on(machine, phase);
  const Numbers begun = pus_of(placed.plan, placed.placement);
  placed.placement =
      place_threads(machine, {.threads = static_cast<uint32_t>(machine.allowed_pus.size())});
  Numbers members;
  for (uint32_t m = 0; m < placed.placement.seats.size(); ++m) {
    if (std::ranges::binary_search(begun, placed.placement.seats[m].pu)) members.push_back(m);
  }
  placed.plan.member_shards.assign(placed.placement.seats.size(), 0);
  placed.plan.groups = {{members, {0, 1, 0, 1}}};
  return placed;
}

PlanSpace whole_space(const Machine& machine, const ModelSpec& spec, const PlacedPlan& placed) {
  PlanSpace space = space_of(spec, placed);
  space.max_cores = default_thread_count(machine);
  return space;
}

TEST(PlanSearch, ASparedCoreCostsNoTree) {
  const TestModel model = model_of(1);
  for (uint32_t cores : {8u, 12u, 14u, 18u, 20u, 24u, 32u, 48u}) {
    const Machine machine =
        Machine::from_synthetic("numa:1 core:" + std::to_string(cores) + " pu:1");
    const PlacedPlan placed = whole_on(machine, Phase::kDecode);
    const PlanSpace space = whole_space(machine, model.spec(), placed);
    ASSERT_EQ(space.max_cores, cores - 1);
    std::set<uint32_t> groups;
    // This cost counts neither groups that wait nor the number of threads.
    const PlanSearchResult found = search_plans(machine, space, [&](const Plan& plan) {
      EXPECT_LT(plan.worker_count(), cores);
      groups.insert(plan.group_count());
      return 1.0 / plan.worker_count();
    });
    EXPECT_EQ(found.grouped_trees, grouped_trees(TopoTree(machine), 4000).size()) << cores;
    EXPECT_EQ(found.best[0].plan.worker_count(), cores - 1);
    std::set<uint32_t> expected;
    for (uint32_t count = 1; count <= 8; ++count) {
      if (cores % count == 0 && count < cores) expected.insert(count);
    }
    EXPECT_TRUE(std::ranges::includes(groups, expected)) << cores;
  }
}

TEST(PlanSearch, OneInFourIsRestedBesideASparedCore) {
  const TestModel model = model_of(1);
  for (const char* description : {"numa:1 core:16 pu:1", "numa:1 core:24 pu:1"}) {
    const Machine machine = Machine::from_synthetic(description);
    const PlacedPlan placed = whole_on(machine, Phase::kDecode);
    const PlanSearchResult found =
        search_plans(machine, whole_space(machine, model.spec(), placed),
                     ports_for_three(placed.placement, [](uint32_t pu) { return pu / 4; }));
    EXPECT_EQ(found.best[0].plan.worker_count(), machine.cores.size() / 4 * 3) << description;
  }
}

TEST(PlanSearch, NoMoreCoresAreAtWorkThanMayBe) {
  const TestModel model = model_of(1);
  const Machine machine = Machine::from_synthetic("numa:1 core:16 pu:2");
  const PlacedPlan placed = whole_on(machine, Phase::kDecode);
  PlanSpace space = whole_space(machine, model.spec(), placed);
  for (uint32_t most : {1u, 5u, 16u}) {
    space.max_cores = most;
    std::set<uint32_t> most_met;
    search_plans(machine, space, [&](const Plan& plan) {
      std::set<uint32_t> cores;
      for (uint32_t m : plan.working_members()) cores.insert(placed.placement.seats[m].core);
      most_met.insert(static_cast<uint32_t>(cores.size()));
      return plan == placed.plan ? 1.0 : 1.0 / plan.worker_count();
    });
    most_met.erase(15);  // the cores of the start plan
    if (most == 16) {
      EXPECT_EQ(*most_met.rbegin(), 16u);
    } else {
      EXPECT_LE(*most_met.rbegin(), most);
    }
  }
}

// Second hyper-threads work in the best plan only if a core computes more with two threads.
TEST(PlanSearch, SecondThreadsWorkWhereTheyGain) {
  const TestModel model = model_of(1);
  const Machine machine = Machine::from_synthetic("numa:1 core:12 pu:2");
  const PlacedPlan placed = whole_on(machine, Phase::kPrefill);
  const PlanSpace space = whole_space(machine, model.spec(), placed);
  for (double second : {0.25, -0.05}) {
    const PlanSearchResult found = search_plans(machine, space, [&](const Plan& plan) {
      std::map<uint32_t, uint32_t> threads;
      for (uint32_t m : plan.working_members()) ++threads[placed.placement.seats[m].core];
      double rate = 0;
      for (auto [core, count] : threads) rate += 1 + second * (count - 1);
      return 1 / rate;
    });
    EXPECT_EQ(found.best[0].plan.worker_count(), second > 0 ? 22u : 11u);
  }
}

TEST(PlanSearch, OneOfThoseThatTieIsGivenBack) {
  const TestModel model = model_of(1);
  const Machine machine = Machine::from_synthetic("numa:1 core:24 pu:1");
  const PlacedPlan placed = whole_on(machine, Phase::kDecode);
  const PlanSearchResult found =
      search_plans(machine, whole_space(machine, model.spec(), placed),
                   [](const Plan& plan) { return 1.0 + 0.1 * plan.group_count(); });
  std::set<std::pair<uint32_t, uint32_t>> kinds;
  for (const PlanTrial& trial : found.best) {
    EXPECT_TRUE(kinds.emplace(trial.plan.group_count(), trial.plan.worker_count()).second);
  }
  EXPECT_EQ(found.best.size(), 10u);
}

// A random machine. Cores of a cluster, which may be a stride apart, share something that is fast
// enough for only some of them. Groups and their members cost something, too.
struct Truth {
  explicit Truth(std::mt19937& random)
      : size(1u << (1 + random() % 3)),
        stride(1u << random() % 3),
        serves(1 + random() % size),
        loss(1 - 0.05 * (random() % 6)),
        group(0.002 * (random() % 20)),
        member(0.002 * (random() % 20)) {}

  double operator()(const Plan& plan, const Placement& placement) const {
    std::map<uint32_t, uint32_t> busy;
    for (uint32_t pu : pus_of(plan, placement)) {
      ++busy[pu / (size * stride) * stride + pu % stride];
    }
    double rate = 0;
    for (auto [port, cores] : busy) rate += cores <= serves ? cores : serves * loss;
    uint32_t largest = 0;
    for (const PlanGroup& of : plan.groups) largest = std::max(largest, of.size());
    return 1 / rate + group * plan.group_count() + member * std::bit_width(largest - 1);
  }

  uint32_t size, stride, serves;
  double loss, group, member;
};

TEST(PlanSearch, IsWithinThreePercentOfAllPlansOnSmallMachines) {
  const TestModel model = model_of(1);
  std::mt19937 random(5);
  uint64_t asked = 0, all = 0, worst_asked = 0, worst_all = 1;
  for (const char* description :
       {"numa:1 core:2 pu:1", "numa:1 core:4 pu:1", "numa:1 core:8 pu:1", "numa:1 core:12 pu:1",
        "numa:1 core:16 pu:1", "numa:2 core:4 pu:1", "numa:2 core:8 pu:1", "l3:4 core:4 pu:1"}) {
    const Machine machine = Machine::from_synthetic(description);
    const PlacedPlan placed = placed_on(machine, Phase::kDecode, machine.allowed_core_count());
    const PlanSpace space = space_of(model.spec(), placed);
    std::vector<PlanCost> costs;
    const BandwidthTable table = assumed_bandwidth(machine);
    costs.push_back(predicted_cost(machine, table, model.spec(), placed, workload_of(placed.plan)));
    for (int i = 0; i < 12; ++i) {
      costs.push_back([truth = Truth(random), &placed](const Plan& plan) {
        return truth(plan, placed.placement);
      });
    }
    for (size_t i = 0; i < costs.size(); ++i) {
      const PlanSearchResult found = search_plans(machine, space, costs[i]);
      const PlanSearchResult exhaustive = search_plans(
          machine, space, costs[i], {.patience = 0, .cuts_removals = false, .keep = 1});
      EXPECT_LE(found.best[0].cost, 1.03 * exhaustive.best[0].cost) << description << ", " << i;
      EXPECT_EQ(exhaustive.plans, exhaustive.evaluations);
      EXPECT_LE(found.evaluations, exhaustive.evaluations);
      asked += found.evaluations;
      all += exhaustive.evaluations;
      if (found.evaluations * worst_all > worst_asked * exhaustive.evaluations) {
        worst_asked = found.evaluations;
        worst_all = exhaustive.evaluations;
      }
    }
    const PlanSearchResult exhaustive =
        search_plans(machine, space, costs[0], {.patience = 0, .cuts_removals = false});
    std::printf("%-22s %5zu trees, %5zu plans\n", description, size_t{exhaustive.trees},
                size_t{exhaustive.plans});
  }
  std::printf("asked for %zu of %zu plans, %.0f %%\n", size_t{asked}, size_t{all},
              100.0 * static_cast<double>(asked) / static_cast<double>(all));
  EXPECT_LT(2 * asked, all);
}

TEST(PlanSearch, DescribedMachines) {
  const TestModel model = model_of(4);
  struct Case {
    const char* name;
    Machine machine;
  };
  const Case cases[] = {
      {"2 x EPYC 7H12", Machine::from_synthetic("pack:2 numa:4 l3:4 core:4 pu:2")},
      {"4 x Kunpeng 920", Machine::from_synthetic("pack:4 numa:2 l3:1 core:24 pu:1")},
      {"2 x Xeon 6230", Machine::from_synthetic("pack:2 numa:1 l3:1 core:20 pu:2")},
      {"fast and slow cores",
       Machine::from_xml(HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml")}};
  for (const Case& of : cases) {
    const BandwidthTable table = assumed_bandwidth(of.machine);
    for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      const PlacedPlan placed = placed_on(of.machine, phase);
      const PlanSpace space = space_of(model.spec(), placed);
      const PlanSearchResult found = search_plans(
          of.machine, space,
          predicted_cost(of.machine, table, model.spec(), placed, workload_of(placed.plan)));
      std::printf("%-20s %-8s %4zu grouped trees, %5zu trees, %5zu plans, %4zu asked for, %.4f\n",
                  of.name, phase_name(phase), size_t{found.grouped_trees}, size_t{found.trees},
                  size_t{found.plans}, size_t{found.evaluations}, found.best[0].cost);
      EXPECT_EQ(found.start_cost, 1);
      EXPECT_LE(found.best[0].cost, 1);
      EXPECT_LE(found.best.size(), 10u);
      EXPECT_TRUE(
          std::is_sorted(found.best.begin(), found.best.end(),
                         [](const PlanTrial& a, const PlanTrial& b) { return a.cost < b.cost; }));
      // The number of evaluations must stay small: one predicts all steps of the workload, which
      // takes up to 10 ms on a core for a model of 36 layers.
      EXPECT_LE(found.evaluations, 800u);
    }
  }
}

}  // namespace
}  // namespace hearth
