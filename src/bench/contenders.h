// Contenders: other programs' matrix products, measured in turns with ours (kernel_bench.h): in
// every repetition ours comes first, then each of them. The base class has none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/pack_spec.h"
#include "topology/placement.h"

namespace hearth {

// `m` rows of activations times weights[rows, k]^T, with `copies` copies of the weights in memory
// of a node, which products take in turn. `bytes` are those of a copy of ours.
struct ContenderTask {
  uint32_t rows = 0, k = 0, m = 0, copies = 1;
  PackKind kind = PackKind::kF32;
  uint64_t bytes = 0;
  uint32_t node = 0;
};

struct Contender {
  std::string name, implementation;
  // Computes `count` products one after the other; returns the seconds that they took.
  std::function<double(uint32_t count)> run;
};

class Contenders {
 public:
  virtual ~Contenders() = default;
  // Names all that may be ready for some product: the columns of a report.
  virtual std::vector<std::string> names() const { return {}; }
  // Called before a team is made that has this placement.
  virtual void sit(const Placement&) {}
  // Returns the contenders that can compute the product. They stay usable as long as this object.
  virtual std::vector<Contender> ready(const ContenderTask&) { return {}; }
  // Called before every turn (a contender's, ours, or that of sampling limits), where any contender
  // was ready.
  virtual void before_turn() {}
};

}  // namespace hearth
