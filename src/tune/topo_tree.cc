#include "tune/topo_tree.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>
#include <utility>

namespace hearth {
namespace {

// Mixes the bits of a number (the last step of SplitMix64).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t chained(uint64_t hash, uint64_t next) { return mixed(hash ^ mixed(next)); }

}  // namespace

TopoTree::TopoTree(const Machine& machine) { build(machine, machine.allowed_pus); }

TopoTree::TopoTree(const Machine& machine, const Placement& placement) {
  std::vector<uint32_t> pus = placement.pus();
  std::sort(pus.begin(), pus.end());
  build(machine, pus);
}

// Builds the tree of `pus`. Parts of the machine that have none of them are left out.
void TopoTree::build(const Machine& machine, const std::vector<uint32_t>& pus) {
  root_.level = TopoLevel::kMachine;
  auto core_node = [&](const Core& core) {
    Node node{TopoLevel::kCore, core.kind, 0, 0, 0, {}};
    for (uint32_t pu : core.pus) {
      if (!std::binary_search(pus.begin(), pus.end(), pu)) continue;
      node.children.push_back({TopoLevel::kPu, 0, pu, 0, 0, {}});
    }
    return node;
  };
  auto add = [](Node node, Node* parent) {
    if (!node.children.empty()) parent->children.push_back(std::move(node));
  };
  for (const Package& package : machine.packages) {
    Node of_package{TopoLevel::kPackage, 0, 0, 0, 0, {}};
    for (uint32_t n : package.nodes) {
      Node of_node{TopoLevel::kNode, 0, 0, 0, 0, {}};
      for (uint32_t l : machine.nodes[n].llcs) {
        Node of_llc{TopoLevel::kLlc, 0, 0, 0, 0, {}};
        for (uint32_t core : machine.llcs[l].cores) add(core_node(machine.cores[core]), &of_llc);
        add(std::move(of_llc), &of_node);
      }
      add(std::move(of_node), &of_package);
    }
    add(std::move(of_package), &root_);
  }
  seal();
}

void TopoTree::seal() {
  describe(&root_);
  std::vector<uint64_t> sets;
  collect_sets(root_, &sets);
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  hash_ = 0;
  for (uint64_t set : sets) hash_ = chained(hash_, set);
}

void TopoTree::describe(Node* node) {
  node->shape = chained(static_cast<uint64_t>(node->level), node->kind);
  node->set = node->level == TopoLevel::kPu ? mixed(node->pu) : 0;
  for (Node& child : node->children) {
    describe(&child);
    node->shape = chained(node->shape, child.shape);
    node->set += child.set;
  }
}

void TopoTree::collect_sets(const Node& node, std::vector<uint64_t>* sets) {
  sets->push_back(node.set);
  for (const Node& child : node.children) collect_sets(child, sets);
}

void TopoTree::collect_pus(const Node& node, std::vector<uint32_t>* pus) {
  if (node.level == TopoLevel::kPu) pus->push_back(node.pu);
  for (const Node& child : node.children) collect_pus(child, pus);
}

std::vector<uint32_t> TopoTree::pus() const {
  std::vector<uint32_t> all;
  collect_pus(root_, &all);
  std::sort(all.begin(), all.end());
  return all;
}

void TopoTree::find_sites(const Node& node, uint32_t depth, std::vector<Site>* sites) {
  for (const Node& child : node.children) {
    auto same = [&](const Site& site) {
      return site.depth == depth && site.parent == node.shape && site.child == child.shape;
    };
    if (std::none_of(sites->begin(), sites->end(), same)) {
      auto count = std::count_if(node.children.begin(), node.children.end(),
                                 [&](const Node& other) { return other.shape == child.shape; });
      sites->push_back({depth, node.shape, child.shape, static_cast<uint32_t>(count)});
    }
  }
  // Like children have the same sites, so this looks into only one child of each shape.
  std::set<uint64_t> seen;
  for (const Node& child : node.children) {
    if (seen.insert(child.shape).second) find_sites(child, depth + 1, sites);
  }
}

std::vector<TopoTree::Site> TopoTree::sites() const {
  std::vector<Site> all;
  find_sites(root_, 1, &all);
  std::erase_if(all, [](const Site& site) { return site.count < 2; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Site& a, const Site& b) { return a.depth < b.depth; });
  return all;
}

// Replaces the like children, in every node of the site, by the nodes that `decide` makes of them.
// The new nodes take the place of the first of them. Returns whether anything was replaced.
bool TopoTree::transform(Node* node, uint32_t depth, const Site& site, Decide decide, uint32_t n,
                         uint32_t stride) {
  if (depth + 1 < site.depth) {
    bool any = false;
    for (Node& child : node->children) {
      any = transform(&child, depth + 1, site, decide, n, stride) || any;
    }
    return any;
  }
  if (node->shape != site.parent) return false;
  std::vector<Node> like, children;
  for (Node& child : node->children) {
    if (child.shape == site.child) like.push_back(std::move(child));
  }
  if (like.empty()) return false;
  std::vector<Node> made = decide(std::move(like), n, stride);
  bool placed = false;
  for (Node& child : node->children) {
    if (child.shape != site.child) {
      children.push_back(std::move(child));
    } else if (!std::exchange(placed, true)) {
      std::move(made.begin(), made.end(), std::back_inserter(children));
    }
  }
  node->children = std::move(children);
  return true;
}

std::optional<TopoTree> TopoTree::transformed(const Site& site, Decide decide, uint32_t n,
                                              uint32_t stride) const {
  TopoTree tree = *this;
  if (!transform(&tree.root_, 0, site, decide, n, stride)) return std::nullopt;
  tree.seal();
  return tree;
}

std::optional<TopoTree> TopoTree::group(const Site& site, uint32_t n, uint32_t stride) const {
  if (n < 2 || n >= site.count || stride == 0 || site.count % (n * stride) != 0) {
    return std::nullopt;
  }
  return transformed(
      site,
      [](std::vector<Node> like, uint32_t size, uint32_t apart) {
        std::vector<Node> groups;
        for (size_t block = 0; block < like.size(); block += size_t{size} * apart) {
          for (uint32_t first = 0; first < apart; ++first) {
            Node& group = groups.emplace_back(Node{TopoLevel::kGroup, 0, 0, 0, 0, {}});
            for (uint32_t i = 0; i < size; ++i) {
              group.children.push_back(std::move(like[block + first + size_t{i} * apart]));
            }
          }
        }
        return groups;
      },
      n, stride);
}

std::optional<TopoTree> TopoTree::remove(const Site& site, uint32_t n) const {
  if (n == 0 || n >= site.count) return std::nullopt;
  return transformed(
      site,
      [](std::vector<Node> like, uint32_t count, uint32_t) {
        like.resize(like.size() - count);
        return like;
      },
      n, 0);
}

// Returns the partitions of a node: the whole node as one group, and those that cut its children.
// Like children are cut in the same way, and unlike ones in every combination of ways.
std::vector<TopoTree::Partition> TopoTree::cuts_of(const Node& node, uint32_t max_groups) {
  if (node.children.size() == 1) return cuts_of(node.children[0], max_groups);
  Partition whole(1);
  collect_pus(node, &whole[0]);
  std::sort(whole[0].begin(), whole[0].end());
  std::vector<Partition> all{std::move(whole)};
  if (node.children.empty() || node.children.size() > max_groups) return all;
  std::vector<uint64_t> shapes;  // each once, in the order of the children
  for (const Node& child : node.children) {
    if (std::find(shapes.begin(), shapes.end(), child.shape) == shapes.end()) {
      shapes.push_back(child.shape);
    }
  }
  std::vector<std::vector<Partition>> of_children;
  for (const Node& child : node.children) of_children.push_back(cuts_of(child, max_groups));
  std::vector<size_t> ways(shapes.size(), 0);  // [shape]: the index of its cut
  auto shape_of = [&](size_t c) {
    return static_cast<size_t>(std::find(shapes.begin(), shapes.end(), node.children[c].shape) -
                               shapes.begin());
  };
  for (bool more = true; more;) {
    Partition joined;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const Partition& part = of_children[c][ways[shape_of(c)]];
      joined.insert(joined.end(), part.begin(), part.end());
    }
    if (joined.size() <= max_groups) all.push_back(std::move(joined));
    more = false;
    for (size_t c = 0; c < node.children.size() && !more; ++c) {
      const size_t shape = shape_of(c);
      if (c > 0 && std::find_if(node.children.begin(), node.children.begin() + c,
                                [&](const Node& other) { return other.shape == shapes[shape]; }) !=
                       node.children.begin() + c) {
        continue;  // it was counted with the first like child
      }
      more = ++ways[shape] < of_children[c].size();
      if (!more) ways[shape] = 0;
    }
  }
  return all;
}

std::vector<TopoTree::Partition> TopoTree::cuts(uint32_t max_groups) const {
  std::vector<Partition> all = cuts_of(root_, max_groups);
  std::stable_sort(all.begin(), all.end(),
                   [](const Partition& a, const Partition& b) { return a.size() < b.size(); });
  return all;
}

std::vector<TopoTree> grouped_trees(const TopoTree& tree, size_t most) {
  std::vector<TopoTree> all{tree};
  std::unordered_set<uint64_t> seen{tree.hash()};
  for (size_t next = 0; next < all.size() && all.size() < most; ++next) {
    const std::vector<TopoTree::Site> sites = all[next].sites();
    for (const TopoTree::Site& site : sites) {
      for (uint32_t n = 2; n < site.count; ++n) {
        for (uint32_t stride = 1; site.count % n == 0 && stride <= site.count / n; ++stride) {
          std::optional<TopoTree> grouped = all[next].group(site, n, stride);
          if (!grouped || !seen.insert(grouped->hash()).second) continue;
          all.push_back(*std::move(grouped));
          if (all.size() == most) return all;
        }
      }
    }
  }
  return all;
}

}  // namespace hearth
