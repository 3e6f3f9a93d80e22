// Other libraries' matrix products, to be measured beside ours: OpenBLAS in FP32, oneDNN in FP32
// and BF16. They are no dependencies: each is loaded at run time where it is installed. They
// parallelise as they like, on threads of their own.
//
// Everything here is called by one thread. Once loaded a library stays: its threads never end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tensor/pack_spec.h"
#include "topology/machine.h"

namespace hearth {

// out[m, rows] = x[m, k] weights[rows, k]^T, with `copies` copies of the weights in memory of a
// node.
struct PeerProblem {
  uint32_t rows = 0, k = 0, m = 0, copies = 1;
  PackKind kind = PackKind::kF32;  // of weights and x as they are multiplied; out is f32
  std::span<const float> weights, x;
  const Machine& machine;
  uint32_t node = 0;
};

// A product that is ready to run: weights in the library's favourite layout, x in the type of
// `kind`.
class PeerProduct {
 public:
  virtual ~PeerProduct() = default;
  // Runs the product with weights number `copy`.
  virtual void run(uint32_t copy) = 0;
  virtual std::span<const float> out() const = 0;
  // Returns the name of what the library runs: "brg:avx512_core".
  virtual const std::string& implementation() const = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const char* name() const = 0;  // "oneDNN"
  virtual bool takes(PackKind kind) const = 0;
  // Sets the threads from the next product() on. Throws (kUnsupported) where it cannot have so
  // many.
  virtual void set_threads(uint32_t threads) = 0;
  // Null where the library has nothing for it on this processor. Throws kUnsupported where it
  // fails otherwise, kResource where there is no memory for the copies.
  virtual std::unique_ptr<PeerProduct> product(const PeerProblem& problem) = 0;
};

// Null where the library cannot be loaded; then `why` is a sentence that says what to install.
std::unique_ptr<Peer> load_openblas(std::string* why);
std::unique_ptr<Peer> load_onednn(std::string* why);

}  // namespace hearth
