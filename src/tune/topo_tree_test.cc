#include "tune/topo_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;
using Sets = std::set<Numbers>;

TopoTree plain(uint32_t cores) {
  return TopoTree(Machine::from_synthetic("numa:1 core:" + std::to_string(cores) + " pu:1"));
}

// Returns how many trees groupings make of k like children. It counts from the lowest new level up:
// this level puts n children into each group, at one of as many strides as k / n has divisors. The
// k / n groups are like nodes, which are then grouped in the same way.
uint64_t count_trees(uint32_t k) {
  uint64_t all = 1;
  for (uint32_t n = 2; n < k; ++n) {
    if (k % n != 0) continue;
    uint64_t strides = 0;
    for (uint32_t stride = 1; stride <= k / n; ++stride) strides += k / n % stride == 0;
    all += strides * count_trees(k / n);
  }
  return all;
}

TEST(TopoTree, FortyEightCoresHave2874GroupedTrees) {
  EXPECT_EQ(count_trees(48), 2874u);
  for (uint32_t cores : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 20u, 24u, 48u}) {
    EXPECT_EQ(grouped_trees(plain(cores), 10000).size(), count_trees(cores)) << cores;
  }
  EXPECT_EQ(grouped_trees(plain(48), 100).size(), 100u) << "no more than were asked for";
}

// The cores form one group, one group each, or groups of n cores at a stride. That makes 36
// partitions.
TEST(TopoTree, FortyEightCoresHave36PartitionsByOneGrouping) {
  const TopoTree tree = plain(48);
  std::set<Sets> found;
  auto add = [&](const TopoTree& of) {
    for (const TopoTree::Partition& cut : of.cuts(48)) found.insert(Sets(cut.begin(), cut.end()));
  };
  add(tree);
  EXPECT_EQ(found.size(), 2u);
  const TopoTree::Site site = tree.sites().at(0);
  std::set<Sets> expected = found;
  for (uint32_t n = 2; n < 48; ++n) {
    for (uint32_t stride = 1; stride < 48; ++stride) {
      std::optional<TopoTree> grouped = tree.group(site, n, stride);
      EXPECT_EQ(grouped.has_value(), 48 % (n * stride) == 0) << n << " " << stride;
      if (!grouped) continue;
      add(*grouped);
      Sets sets;
      std::vector<bool> taken(48, false);
      for (uint32_t first = 0; first < 48; ++first) {
        if (taken[first]) continue;
        Numbers group;
        for (uint32_t i = 0; i < n; ++i) {
          group.push_back(first + i * stride);
          taken[first + i * stride] = true;
        }
        sets.insert(group);
      }
      expected.insert(sets);
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(found.size(), 36u);
}

TEST(TopoTree, HasTheLevelsOfTheMachine) {
  const TopoTree tree(Machine::from_synthetic("pack:2 numa:2 l3:2 core:3 pu:2"));
  EXPECT_EQ(tree.pus().size(), 48u);
  Numbers counts, depths;
  for (const TopoTree::Site& site : tree.sites()) {
    depths.push_back(site.depth);
    counts.push_back(site.count);
  }
  EXPECT_EQ(depths, (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(counts, (Numbers{2, 2, 2, 3, 2}));
  Numbers groups;
  for (const TopoTree::Partition& cut : tree.cuts(100)) {
    groups.push_back(static_cast<uint32_t>(cut.size()));
  }
  EXPECT_EQ(groups, (Numbers{1, 2, 4, 8, 24, 48}));
  EXPECT_EQ(tree.cuts(8).size(), 4u);
  EXPECT_EQ(tree.cuts(8).back().front(), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(TopoTree, GroupsStandAStrideApart) {
  const TopoTree tree = plain(12);
  const TopoTree::Site site = tree.sites().at(0);
  const std::vector<TopoTree::Partition> cuts = tree.group(site, 2, 3)->cuts(6);
  ASSERT_EQ(cuts.size(), 2u);
  EXPECT_EQ(cuts[1], (TopoTree::Partition{{0, 3}, {1, 4}, {2, 5}, {6, 9}, {7, 10}, {8, 11}}));
  EXPECT_FALSE(tree.group(site, 1, 1));
  EXPECT_FALSE(tree.group(site, 12, 1)) << "all of them are their parent";
  EXPECT_FALSE(tree.group(site, 5, 1));
  EXPECT_FALSE(tree.group(site, 4, 2)) << "twelve are no multiple of eight";
}

TEST(TopoTree, TheOrderOfTransformationsDoesNotMatter) {
  const TopoTree tree = plain(16);
  const TopoTree::Site cores = tree.sites().at(0);
  // Pairs that are put into groups of four make the same tree as groups of four that are divided
  // into pairs.
  const TopoTree twos = *tree.group(cores, 2, 1), fours = *tree.group(cores, 4, 1);
  EXPECT_NE(twos.hash(), fours.hash());
  const TopoTree above = *twos.group(twos.sites().at(0), 2, 1);
  const TopoTree below = *fours.group(fours.sites().at(1), 2, 1);
  EXPECT_EQ(above, below);
  EXPECT_NE(above, twos);
  EXPECT_NE(*fours.group(fours.sites().at(1), 2, 2), below);
}

TEST(TopoTree, RemovesTheRightMostOfEveryNode) {
  const TopoTree tree = plain(12);
  const TopoTree fours = *tree.group(tree.sites().at(0), 4, 1);
  const std::vector<TopoTree::Site> sites = fours.sites();
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(fours.remove(sites[1], 1)->pus(), (Numbers{0, 1, 2, 4, 5, 6, 8, 9, 10}));
  EXPECT_EQ(fours.remove(sites[0], 2)->pus(), (Numbers{0, 1, 2, 3}));
  EXPECT_FALSE(fours.remove(sites[0], 3));
  EXPECT_FALSE(fours.remove(sites[0], 0));
  // Removing a group and then a core of each group is the same as removing in the other order.
  const TopoTree first = *fours.remove(sites[0], 1), second = *fours.remove(sites[1], 1);
  const TopoTree both = *first.remove(first.sites().at(1), 1);
  EXPECT_EQ(both, *second.remove(second.sites().at(0), 1));
  EXPECT_EQ(both.pus(), (Numbers{0, 1, 2, 4, 5, 6}));
}

// Returns how many like children each site has, by the depth of the site.
std::multimap<uint32_t, uint32_t> sites_of(const TopoTree& tree) {
  std::multimap<uint32_t, uint32_t> counts;
  for (const TopoTree::Site& site : tree.sites()) counts.emplace(site.depth, site.count);
  return counts;
}

TEST(TopoTree, UnlikeNodesAreTransformedApart) {
  Machine machine = Machine::from_synthetic("pack:1 numa:3 core:6 pu:1");
  std::erase(machine.allowed_pus, 17u);
  const TopoTree tree(machine);
  EXPECT_EQ(sites_of(tree), (std::multimap<uint32_t, uint32_t>{{2, 2}, {4, 6}, {4, 5}}));
  for (const TopoTree::Site& site : tree.sites()) {
    if (site.count != 6) continue;
    const TopoTree pairs = *tree.group(site, 2, 1);
    // The third node may be cut or stay whole, whatever happens to the other nodes.
    Numbers groups;
    for (const TopoTree::Partition& cut : pairs.cuts(11)) {
      groups.push_back(static_cast<uint32_t>(cut.size()));
    }
    EXPECT_EQ(groups, (Numbers{1, 3, 7, 7, 11}));
    EXPECT_EQ(tree.remove(site, 5)->pus(), (Numbers{0, 6, 12, 13, 14, 15, 16}));
  }
}

TEST(TopoTree, FastAndSlowCoresAreTransformedApart) {
  const Machine machine = Machine::from_xml(HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml");
  const TopoTree tree(machine);
  for (const TopoTree::Site& site : tree.sites()) {
    for (uint32_t n = 1; n < site.count; ++n) {
      const Numbers left = tree.remove(site, n)->pus();
      std::set<uint32_t> kinds;
      for (const Core& core : machine.cores) {
        for (uint32_t pu : core.pus) {
          const bool rests =
              machine.is_allowed(pu) && !std::binary_search(left.begin(), left.end(), pu);
          if (rests) kinds.insert(core.kind);
        }
      }
      EXPECT_EQ(kinds.size(), 1u) << "depth " << site.depth << ", " << n;
    }
  }
}

TEST(TopoTree, HasOnlyThePusOfSeats) {
  const Machine machine = Machine::from_synthetic("numa:2 core:4 pu:2");
  const Placement placement = place_threads(machine, {.threads = 6});
  Numbers pus = placement.pus();
  std::sort(pus.begin(), pus.end());
  EXPECT_EQ(TopoTree(machine, placement).pus(), pus);
}

}  // namespace
}  // namespace hearth
