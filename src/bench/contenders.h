// Contenders: the matrix products of other programs. They are measured in turns with ours
// (kernel_bench.h): every repetition runs ours first and then each contender. The base class has no
// contenders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/pack_spec.h"
#include "topology/placement.h"

namespace hearth {

// The product of `m` rows of activations with weights[rows, k]^T. `copies` copies of the weights
// lie in memory of a node, and products take them in turn. `bytes` is the size of one of our
// copies.
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
  // Returns the names of all contenders that may be ready for some product. They become the columns
  // of a report.
  virtual std::vector<std::string> names() const { return {}; }
  // Called before a team with this placement is made.
  virtual void sit(const Placement&) {}
  // Returns the contenders that can compute the product. They stay usable as long as this object
  // exists.
  virtual std::vector<Contender> ready(const ContenderTask&) { return {}; }
  // Called before every turn of a product for which some contender was ready. A turn is a
  // contender's, ours, or a sample of the limits.
  virtual void before_turn() {}
};

}  // namespace hearth
