// Measures matrix products alone, kernel by kernel. They run as the engine's linear ops run them:
// graph/ops/gemm_tasks.h cuts them into tasks, threads claim these, and a barrier ends each
// product. Contenders (contenders.h) compute the same product beside them, where there are any.
//
// Weights are random codes in packed layout. Their copies together hold the bytes that the read
// limit is measured over (4 times the last-level cache). Products take the copies in turn, so that
// every product reads its weights from memory. Activations are already in the format that the
// kernels take, and stay in the cache; outputs stay there too as far as they fit.
//
// A repetition is as many products one after the other as take kMinSeconds. Limits are sampled
// before the first repetition and after each. A turn begins with a product that is not measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contenders.h"
#include "bench/matrix_shapes.h"
#include "bench/team_limits.h"
#include "topology/machine.h"

namespace hearth {

struct ContenderResult {
  std::string name, implementation;
  std::vector<double> seconds;  // of one product, in each repetition
};

struct KernelResult {
  MatrixShape shape;
  uint32_t m = 0;       // rows of activations
  uint32_t rows = 0;    // rows of the matrix that were measured: fewer where it is very large
  uint32_t k = 0;       // padded
  uint32_t copies = 0;  // of the weights in memory
  uint64_t bytes = 0;   // of packed weights that a product reads
  ArithmeticUnit unit = ArithmeticUnit::kF32Fma;
  std::vector<double> seconds;  // of one product, in each repetition
  std::vector<ContenderResult> others;

  // Returns the operations; an addition and a multiplication count as two.
  double operations() const { return 2.0 * m * rows * k; }
};

struct KernelHooks {
  // Asked between measurements; true ends the run.
  std::function<bool()> interrupted = [] { return false; };
  // Called after every repetition.
  std::function<void(std::string_view doing)> progress = [](std::string_view) {};
};

// Runs products of one team, all of whose members sit on one node. Used by member 0.
class KernelBench {
 public:
  static constexpr double kMinSeconds = 10e-3;

  // Weights lie on `node` of `machine`, which tells what memory is free now. `limits` measures the
  // team, at one level. `contenders` have the team's placement.
  KernelBench(Team& team, const Machine& machine, uint32_t node, TeamLimits& limits,
              Contenders& contenders, KernelHooks hooks);

  // Returns a result for each of `rows` (M). If the user interrupts, there are fewer results, or
  // fewer repetitions in the last one. Throws kResource where there is no memory for the copies.
  std::vector<KernelResult> run(const MatrixShape& shape, std::span<const uint32_t> rows,
                                uint32_t repetitions);

 private:
  class Side;

  void check_room(const Rotation& rotation, const MatrixShape& shape,
                  std::span<const uint32_t> rows) const;
  // Returns the contenders that can compute the product, and adds an entry for each to `result`.
  std::vector<Side> others(PackKind kind, KernelResult* result);
  void measure(Side& own, std::vector<Side>& theirs, uint32_t repetitions, KernelResult* result);

  TimedTeam team_;
  const Machine& machine_;
  uint32_t node_;
  TeamLimits& limits_;
  Contenders& contenders_;
  KernelHooks hooks_;
};

}  // namespace hearth
