// TopoTree: the PUs of a machine as leaves under the parts that they share (Sandwich, section 5):
// machine, package, NUMA node, last-level cache, core, PU. Two transformations make new trees from
// a tree. group() puts a new level between a node and its children. The level is a guess at sharing
// that the system does not report, such as cores that share a port of their cache. remove() takes
// away PUs, which then rest. A cut across a tree gives groups of PUs that work together.
//
// The paper's trees are symmetric. Here, like subtrees are transformed together, and unlike ones
// separately (fast and slow cores, nodes of different size, a CPU set that leaves cores out). A
// Site names like children of like nodes.
//
// Trees are values. Two trees are equal if their nodes have the same sets of PUs, whatever
// transformations made them in whatever order. Nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/machine.h"
#include "topology/placement.h"

namespace hearth {

enum class TopoLevel : uint8_t { kMachine, kPackage, kNode, kLlc, kGroup, kCore, kPu };

class TopoTree {
 public:
  // Makes the tree of all PUs that the process may use.
  explicit TopoTree(const Machine& machine);
  // Makes the tree of the PUs of a placement's seats.
  TopoTree(const Machine& machine, const Placement& placement);

  // Children that are alike, under nodes that are alike: each of the nodes at `depth` - 1 has
  // `count` of them.
  struct Site {
    uint32_t depth;
    uint64_t parent, child;  // the shapes of both
    uint32_t count;
  };
  // Returns all sites with two like children or more, from the root down.
  std::vector<Site> sites() const;

  // Makes groups of n children each in every node of the site; the children of a group stand
  // `stride` apart. n must be at least 2 and less than `count`, and `count` must be a multiple of n
  // x stride; else returns none.
  std::optional<TopoTree> group(const Site& site, uint32_t n, uint32_t stride) const;
  // Removes the last n of the like children in every node of the site. n must be at least 1 and
  // less than `count`; else returns none.
  std::optional<TopoTree> remove(const Site& site, uint32_t n) const;

  // The PUs of each group in ascending order. The groups have the order of the tree.
  using Partition = std::vector<std::vector<uint32_t>>;
  // Returns the partitions that cross-sections of the tree give, each once. A cross-section cuts
  // like nodes at the same depth below them. No partition has more than `max_groups` groups;
  // partitions with few groups come first.
  std::vector<Partition> cuts(uint32_t max_groups) const;

  // Returns the PUs of all nodes, ascending.
  std::vector<uint32_t> pus() const;
  // Returns a 64-bit hash. Equal trees have the same hash; different trees almost certainly have
  // different ones.
  uint64_t hash() const { return hash_; }
  bool operator==(const TopoTree& other) const { return hash_ == other.hash_; }

 private:
  struct Node {
    TopoLevel level = TopoLevel::kPu;
    uint32_t kind = 0;           // of a core, as in Core::kind
    uint32_t pu = 0;             // of a leaf: the operating system's number
    uint64_t shape = 0;          // a hash of the subtree's form without PU numbers
    uint64_t set = 0;            // a hash of the subtree's PU numbers
    std::vector<Node> children;  // a PU has none
  };
  using Decide = std::vector<Node> (*)(std::vector<Node> like, uint32_t n, uint32_t stride);

  TopoTree() = default;
  void build(const Machine& machine, const std::vector<uint32_t>& pus);
  void seal();
  static void describe(Node* node);
  static void find_sites(const Node& node, uint32_t depth, std::vector<Site>* sites);
  static bool transform(Node* node, uint32_t depth, const Site& site, Decide decide, uint32_t n,
                        uint32_t stride);
  static std::vector<Partition> cuts_of(const Node& node, uint32_t max_groups);
  static void collect_pus(const Node& node, std::vector<uint32_t>* pus);
  static void collect_sets(const Node& node, std::vector<uint64_t>* sets);
  std::optional<TopoTree> transformed(const Site& site, Decide decide, uint32_t n,
                                      uint32_t stride) const;

  Node root_;
  uint64_t hash_ = 0;
};

// Returns all trees that groupings make of `tree`, without removals: `tree` itself first, then the
// others by their number of groupings, at most `most` trees.
std::vector<TopoTree> grouped_trees(const TopoTree& tree, size_t most);

}  // namespace hearth
