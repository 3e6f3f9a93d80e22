#include "bench/kernel_bench.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.h"
#include "base/clock.h"
#include "bench/packed_product.h"
#include "kernels/kernels.h"
#include "memory/arena.h"

namespace hearth {
namespace {

constexpr uint32_t kMostProducts = 10'000;  // of a repetition

double process_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Random numbers around zero that repeat after an odd number of them: the first of every row of a
// matrix differ.
std::vector<float> random_floats(size_t count) {
  constexpr size_t kPeriod = (size_t{1} << 14) + 3;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.1f);
  std::vector<float> values(count);
  for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = normal(random);
  for (size_t i = kPeriod; i < count; ++i) values[i] = values[i - kPeriod];
  return values;
}

}  // namespace

// A product, ours or a library's, and how many of it make a repetition.
class KernelBench::Side {
 public:
  // run(count) does so many products and returns the seconds that they took.
  explicit Side(std::function<double(uint32_t count)> run) : run_(std::move(run)) {
    // The first may find pages and threads that are not there yet, and counts only where it is long
    // against that.
    double seconds = run_(1);
    if (seconds < kLeastSeconds) seconds = run_(1);
    double wanted = std::ceil(kLeastSeconds / std::max(seconds, 1e-9));
    count_ = static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kMostProducts}));
  }

  // Seconds of one product. One more goes before, to find threads asleep and clocks low; not where
  // it would take longer than what it spoils.
  double repeat() {
    if (count_ > 1) run_(1);
    return run_(count_) / count_;
  }

 private:
  std::function<double(uint32_t count)> run_;
  uint32_t count_ = 1;
};

KernelBench::KernelBench(Team& team, const Machine& machine, uint32_t node, TeamLimits& limits,
                         const Peers& peers, KernelHooks hooks)
    : team_(team),
      machine_(machine),
      node_(node),
      limits_(limits),
      peers_(peers),
      hooks_(std::move(hooks)) {
  HEARTH_CHECK(limits.levels().size() == 1, "one level is measured");
}

uint32_t KernelBench::libraries_for(PackKind kind) const {
  auto takes = [&](const auto& peer) { return peer->takes(kind); };
  return static_cast<uint32_t>(std::count_if(peers_.all().begin(), peers_.all().end(), takes));
}

// Against an end by the kernel: copies are touched whole. What the libraries take has as many bytes
// as ours.
void KernelBench::check_room(const Rotation& rotation, const MatrixShape& shape,
                             std::span<const uint32_t> rows) const {
  const PackSpec& spec = rotation.spec;
  uint64_t sides = 1 + libraries_for(spec.kind);
  uint64_t m = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  uint64_t ends = sizeof(float) * m * (uint64_t{spec.rows} + spec.k);
  uint64_t given = sides > 1 ? sizeof(float) * (spec.rows + m) * spec.k : 0;
  uint64_t needed = sides * (rotation.copies * rotation.copy_bytes() + ends) + given;
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
  GemmFn gemm = kernels.gemm[static_cast<size_t>(spec.kind)];
  Unit unit = unit_for(act_format_for(spec.kind), units_of(kernels.limits));
  PackedCopies weights(machine_, node_, rotation);
  bool compare = libraries_for(spec.kind) > 0;
  std::vector<float> values = random_floats(compare ? size_t{spec.rows} * spec.k : 0);
  std::vector<KernelResult> results;
  for (uint32_t m : rows) {
    if (hooks_.interrupted()) break;
    KernelResult& result = results.emplace_back(KernelResult{
        shape, m, spec.rows, spec.k, rotation.copies, rotation.copy_bytes(), unit, {}, {}});
    PackedProduct product(weights, gemm, m, team_);
    Side own([&](uint32_t count) { return product.run(count); });
    std::vector<float> x = random_floats(compare ? size_t{m} * spec.k : 0);
    std::vector<Side> theirs = prepare(
        {spec.rows, spec.k, m, rotation.copies, spec.kind, values, x, machine_, node_}, &result);
    measure(own, theirs, repetitions, &result);
  }
  return results;
}

std::vector<KernelBench::Side> KernelBench::prepare(const PeerProblem& problem,
                                                    KernelResult* result) const {
  std::vector<Side> theirs;
  Peers::Turn turn(peers_);
  for (const auto& peer : peers_.all()) {
    if (!peer->takes(problem.kind)) continue;
    std::shared_ptr<PeerProduct> product = peer->product(problem);
    if (product == nullptr) continue;
    result->peers.push_back({peer->name(), product->implementation(), {}});
    theirs.emplace_back([product, copies = problem.copies, next = 0u](uint32_t count) mutable {
      double start = steady_seconds();
      for (uint32_t i = 0; i < count; ++i) product->run(next++ % copies);
      return steady_seconds() - start;
    });
  }
  return theirs;
}

void KernelBench::measure(Side& own, std::vector<Side>& theirs, uint32_t repetitions,
                          KernelResult* result) {
  auto pause = [&] {
    if (!theirs.empty()) wait_until_idle();
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
      Peers::Turn turn(peers_);
      result->peers[i].seconds.push_back(theirs[i].repeat());
    }
    pause();
    limits_.sample();
    hooks_.progress(doing);
  }
}

// Until nobody of this process spins any more, or for half a second.
void KernelBench::wait_until_idle() const {
  constexpr timespec kNap = {0, 5'000'000};
  for (int i = 0; i < 100; ++i) {
    double before = process_seconds();
    nanosleep(&kNap, nullptr);
    if (process_seconds() - before < 0.5e-3) return;
  }
  hooks_.note(
      "a library's threads keep spinning between its products and take CPU time from what is "
      "measured: unset OMP_WAIT_POLICY and GOMP_SPINCOUNT");
}

}  // namespace hearth
