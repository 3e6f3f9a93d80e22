// TopoTree: the PUs of a machine under what they share (Sandwich, section 5): machine, package,
// NUMA node, last-level cache, core, PU. Two transformations make other trees of one. group() puts
// a new level between a node and its children, as a guess at what the system does not tell, such as
// cores that share a port of their cache. remove() takes PUs away: they rest. Cutting a tree across
// gives groups of PUs that work together, and the PUs within a group share what the tree says.
//
// The paper's trees are symmetric. Here like subtrees are transformed together and unlike ones
// (fast and slow cores, nodes of unequal size, a CPU set that leaves cores out) apart: a Site is
// like children of like nodes.
//
// Trees are values. Two are equal where their nodes have the same sets of PUs, whatever the order
// of the transformations that led there. Nothing here throws.
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

  // Like children of like nodes: `count` of them under each of the nodes at `depth` - 1.
  struct Site {
    uint32_t depth;
    uint64_t parent, child;  // the shapes of both
    uint32_t count;
  };
  // Returns the nodes with two children at least, from the root down.
  std::vector<Site> sites() const;

  // Groups n children each that stand `stride` apart, in every node of the site: n of them at least
  // two and not all, and n x stride a divisor of how many there are. Else nothing.
  std::optional<TopoTree> group(const Site& site, uint32_t n, uint32_t stride) const;
  // Removes the n right-most of them; not all. Else nothing.
  std::optional<TopoTree> remove(const Site& site, uint32_t n) const;

  // PUs of each group; groups in the order of the tree, PUs rising.
  using Partition = std::vector<std::vector<uint32_t>>;
  // The partitions that cross-sections give, each once: like nodes are cut at the same depth below
  // them. None with more than `most_groups`; from few groups to many.
  std::vector<Partition> cuts(uint32_t most_groups) const;

  // Returns the PUs of all nodes, rising.
  std::vector<uint32_t> pus() const;
  // Returns a number that is the same for equal trees, and else another, as sure as 64 bits are.
  uint64_t hash() const { return hash_; }
  bool operator==(const TopoTree& other) const { return hash_ == other.hash_; }

 private:
  struct Node {
    TopoLevel level = TopoLevel::kPu;
    uint32_t kind = 0;           // of a core
    uint32_t pu = 0;             // of a PU, by the operating system's number
    uint64_t shape = 0;          // of the subtree, whatever its PUs are called
    uint64_t set = 0;            // of its PUs
    std::vector<Node> children;  // of all but PUs
  };
  using Decide = std::vector<Node> (*)(std::vector<Node> like, uint32_t n, uint32_t stride);

  TopoTree() = default;
  void build(const Machine& machine, const std::vector<uint32_t>& pus);
  void seal();
  static void describe(Node* node);
  static void find_sites(const Node& node, uint32_t depth, std::vector<Site>* sites);
  static bool transform(Node* node, uint32_t depth, const Site& site, Decide decide, uint32_t n,
                        uint32_t stride);
  static std::vector<Partition> cuts_of(const Node& node, uint32_t most_groups);
  static void collect_pus(const Node& node, std::vector<uint32_t>* pus);
  static void collect_sets(const Node& node, std::vector<uint64_t>* sets);
  std::optional<TopoTree> transformed(const Site& site, Decide decide, uint32_t n,
                                      uint32_t stride) const;

  Node root_;
  uint64_t hash_ = 0;
};

// Every tree that groupings alone make of `tree`, itself first and the others in the order of how
// many groupings they took; at most `most` of them.
std::vector<TopoTree> grouped_trees(const TopoTree& tree, size_t most);

}  // namespace hearth
