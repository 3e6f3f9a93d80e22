// Matrix products of other libraries, to be measured beside ours: OpenBLAS in FP32, oneDNN in FP32
// and BF16. They are no dependencies: each is loaded at run time where it is installed. Each
// parallelises in its own way, on its own threads.
//
// One thread makes all calls. A loaded library stays loaded, because its threads never end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tensor/pack_spec.h"
#include "topology/machine.h"

namespace hearth {

// The problem out[m, rows] = x[m, k] weights[rows, k]^T, with `copies` copies of the weights in
// memory of a node.
struct PeerProblem {
  uint32_t rows = 0, k = 0, m = 0, copies = 1;
  PackKind kind = PackKind::kF32;  // type of weights and x as they are multiplied; out is f32
  std::span<const float> weights, x;
  const Machine& machine;
  uint32_t node = 0;
};

// A product that is ready to run. Its weights are in the layout that the library chose, x is in the
// type of `kind`.
class PeerProduct {
 public:
  virtual ~PeerProduct() = default;
  // Runs the product with weights number `copy`.
  virtual void run(uint32_t copy) = 0;
  virtual std::span<const float> out() const = 0;
  // Returns the library's name of the implementation that runs: "brg:avx512_core".
  virtual const std::string& implementation() const = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const char* name() const = 0;  // "oneDNN"
  virtual bool takes(PackKind kind) const = 0;
  // Sets the number of threads from the next product() on. Throws (kUnsupported) where the library
  // cannot have that many.
  virtual void set_threads(uint32_t threads) = 0;
  // Returns null where the library has no such product on this processor. Throws kUnsupported where
  // it fails otherwise, kResource where there is no memory for the copies.
  virtual std::unique_ptr<PeerProduct> product(const PeerProblem& problem) = 0;
};

// Return null where the library cannot be loaded. Then `why` is a sentence that says what to
// install.
std::unique_ptr<Peer> load_openblas(std::string* why);
std::unique_ptr<Peer> load_onednn(std::string* why);

}  // namespace hearth
