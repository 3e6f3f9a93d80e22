#include "bench/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "bench/packed_product.h"
#include "kernels/kernels.h"
#include "memory/arena.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRepeatedProducts = 10'000;  // upper bound of the products in a repetition

}  // namespace

// A product, ours or a contender's, and how many of it make a repetition.
class KernelBench::Side {
 public:
  // run(count) does so many products and returns the seconds that they took.
  explicit Side(std::function<double(uint32_t count)> run) : run_(std::move(run)) {
    // The first product may have to wait for pages and threads. It counts only if it takes long
    // compared with such waits.
    double seconds = run_(1);
    if (seconds < kMinSeconds) seconds = run_(1);
    double wanted = std::ceil(kMinSeconds / std::max(seconds, 1e-9));
    count_ = static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kMaxRepeatedProducts}));
  }

  // Returns the seconds of one product. An unmeasured product goes first, to wake threads and raise
  // clocks. It is left out where a repetition has only one product.
  double repeat() {
    if (count_ > 1) run_(1);
    return run_(count_) / count_;
  }

 private:
  std::function<double(uint32_t count)> run_;
  uint32_t count_ = 1;
};

KernelBench::KernelBench(Team& team, const Machine& machine, uint32_t node, TeamLimits& limits,
                         Contenders& contenders, KernelHooks hooks)
    : team_(team),
      machine_(machine),
      node_(node),
      limits_(limits),
      contenders_(contenders),
      hooks_(std::move(hooks)) {
  HEARTH_CHECK(limits.levels().size() == 1, "one level is measured");
}

// Throws where the copies do not fit into memory. All of that memory is touched, so the system
// would kill the process.
void KernelBench::check_room(const Rotation& rotation, const MatrixShape& shape,
                             std::span<const uint32_t> rows) const {
  const PackSpec& spec = rotation.spec;
  uint64_t m = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  uint64_t ends = sizeof(float) * m * (uint64_t{spec.rows} + spec.k);
  uint64_t needed = rotation.copies * rotation.copy_bytes() + ends;
  std::string what = fmt::format("measuring {} matrices of {} x {} with up to {} rows",
                                 shape.type.name, shape.rows, shape.k, m);
  check_memory(needed, what, machine_);
  check_node_memory(needed, what, machine_, node_);
}

std::vector<KernelResult> KernelBench::run(const MatrixShape& shape, std::span<const uint32_t> rows,
                                           uint32_t repetitions) {
  Rotation rotation = plan_rotation(shape, limits_.buffer().bytes);
  check_room(rotation, shape, rows);
  const PackSpec& spec = rotation.spec;
  const Kernels& kernels = kernels_for(limits_.levels()[0].isa);
  const GemmKernel& gemm = kernels.gemm[static_cast<size_t>(spec.kind)];
  ArithmeticUnit unit = arithmetic_unit_for(act_format_for(spec.kind), units_of(kernels.limits));
  PackedCopies weights(machine_, node_, rotation);
  std::vector<KernelResult> results;
  for (uint32_t m : rows) {
    if (hooks_.interrupted()) break;
    KernelResult& result = results.emplace_back(KernelResult{
        shape, m, spec.rows, spec.k, rotation.copies, rotation.copy_bytes(), unit, {}, {}});
    PackedProduct product(weights, gemm, m, team_);
    Side own([&](uint32_t count) { return product.run(count); });
    std::vector<Side> theirs = others(spec.kind, &result);
    measure(own, theirs, repetitions, &result);
  }
  return results;
}

std::vector<KernelBench::Side> KernelBench::others(PackKind kind, KernelResult* result) {
  std::vector<Side> sides;
  for (Contender& other : contenders_.ready(
           {result->rows, result->k, result->m, result->copies, kind, result->bytes, node_})) {
    result->others.push_back({other.name, other.implementation, {}});
    sides.emplace_back(std::move(other.run));
  }
  return sides;
}

void KernelBench::measure(Side& own, std::vector<Side>& theirs, uint32_t repetitions,
                          KernelResult* result) {
  auto pause = [&] {
    if (!theirs.empty()) contenders_.before_turn();
  };
  std::string doing =
      fmt::format("{} {} m {}", result->shape.type.name, result->shape.roles, result->m);
  pause();
  limits_.sample();
  for (uint32_t r = 0; r < repetitions && !hooks_.interrupted(); ++r) {
    pause();
    result->seconds.push_back(own.repeat());
    for (size_t i = 0; i < theirs.size(); ++i) {
      pause();
      result->others[i].seconds.push_back(theirs[i].repeat());
    }
    pause();
    limits_.sample();
    hooks_.progress(doing);
  }
}

}  // namespace hearth
