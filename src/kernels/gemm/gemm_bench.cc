// gemm_bench [kind] [isa] [threads]: the GEMM kernels on one core against what the core can do, or
// with one row on several cores against what these can read together.
//
// For each pack kind and shape (K of real models): with one row the GB/s of weights read, and the
// share of a plain read loop over the same bytes; with more rows the GOPS and the share of a loop
// of nothing but the kind's multiply-add instruction. Weights rotate through 256 MiB, so they come
// from memory and not from a cache. Kernel and limit take turns, five times each; the table shows
// the kernel's best and the median of the shares of neighbouring pairs, which a busy machine
// disturbs least.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/gemm/gemm_problem.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr size_t kRotatedBytes = size_t{256} << 20;
constexpr int kRounds = 5;
constexpr uint32_t kChunkPanels = 8;
constexpr size_t kReadGranule = 256;  // of ReadFn

// Time that this thread had the core: others' turns on a shared machine don't count.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename Fn>
double seconds(Fn&& fn) {
  double start = thread_seconds();
  fn();
  return thread_seconds() - start;
}

// Runs fn(0), fn(1), ... at one time, each in a thread of its own; the longest time.
template <typename Fn>
double seconds_of_all(uint32_t threads, Fn&& fn) {
  std::vector<double> times(threads);
  std::barrier start(threads);
  auto work = [&](uint32_t i) {
    start.arrive_and_wait();
    times[i] = seconds([&] { fn(i); });
  };
  {
    std::vector<std::jthread> others;
    for (uint32_t i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
  }
  return *std::max_element(times.begin(), times.end());
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double peak_ops_per_second(const LimitLoops& loops, ActFormat format) {
  // About 10 ms of AVX-512.
  constexpr size_t kLoops = 2'000'000;
  UnitFn loop = loops.unit[static_cast<size_t>(unit_for(format, units_of(loops)))];
  double ops = 0;
  double t = seconds([&] { ops = loop(kLoops); });
  return ops / t;
}

struct Result {
  std::vector<double> rates;
  std::vector<double> shares;

  void add(double rate, double limit) {
    rates.push_back(rate);
    shares.push_back(100 * rate / limit);
  }
  double best() const { return *std::max_element(rates.begin(), rates.end()); }
};

constexpr uint32_t kMaxRows = 512;

// What a thread writes to.
struct Desk {
  Buffer out{kMaxRows * kChunkPanels * kPanelRows * sizeof(float)};
  Buffer scratch{kGemmScratchBytes};
};

struct Bench {
  const Problem& problem;
  const LimitLoops& limits;
  GemmFn gemm;
  std::vector<Desk> desks;  // by thread

  // Panels [first, first + panels) in chunks as the engine's threads claim them.
  void run(Desk& desk, uint32_t m, uint32_t first, uint32_t panels) {
    for (uint32_t p = first; p < first + panels; p += kChunkPanels) {
      GemmArgs args = {.w = problem.weights(),
                       .panel0 = p,
                       .panels = std::min(kChunkPanels, first + panels - p),
                       .block0 = 0,
                       .block1 = problem.spec.blocks(),
                       .a = problem.a,
                       .m = m,
                       .out = reinterpret_cast<float*>(desk.out.data()),
                       .out_stride = kChunkPanels * kPanelRows,
                       .scratch = desk.scratch.data()};
      gemm(args);
    }
  }

  Result gemv() {
    Result result;
    const PackSpec& spec = problem.spec;
    double bytes = static_cast<double>(spec.codes_bytes() + spec.scales_bytes());
    const auto threads = static_cast<uint32_t>(desks.size());
    auto first = [&](uint32_t i) {
      return spec.panels() / kChunkPanels * i / threads * kChunkPanels;
    };
    std::atomic<uint64_t> sink = 0;
    for (int round = 0; round < kRounds; ++round) {
      double read = seconds_of_all(threads, [&](uint32_t i) {
        const size_t panel = first(i), panels = first(i + 1) - panel;
        auto read_panels = [&](const Buffer& buffer, size_t panel_bytes) {
          sink += limits.read(buffer.data() + panel_bytes * panel,
                              panel_bytes * panels / kReadGranule * kReadGranule);
        };
        read_panels(problem.codes, spec.codes_panel_bytes());
        read_panels(problem.scales, spec.scales_panel_bytes());
      });
      double t = seconds_of_all(
          threads, [&](uint32_t i) { run(desks[i], 1, first(i), first(i + 1) - first(i)); });
      result.add(bytes / t * 1e-9, bytes / read * 1e-9);
    }
    if (sink == 1) fmt::print("\n");
    return result;
  }

  Result many(uint32_t m) {
    Result result;
    const PackSpec& spec = problem.spec;
    // About 10^10 operations a round.
    double panel_ops = 2.0 * m * kPanelRows * spec.k;
    auto panels = static_cast<uint32_t>(std::clamp(1e10 / panel_ops, 8.0, spec.panels() * 1.0));
    panels = panels / kChunkPanels * kChunkPanels;
    uint32_t first = 0;
    for (int i = 0; i < kRounds; ++i) {
      double limit = peak_ops_per_second(limits, act_format_for(problem.kind));
      if (first + panels > spec.panels()) first = 0;
      double t = seconds([&] { run(desks[0], m, first, panels); });
      first += panels;
      result.add(panel_ops * panels / t * 1e-9, limit * 1e-9);
    }
    return result;
  }
};

void bench_kind(const Kernels& kernels, PackKind kind, std::string_view name, uint32_t threads) {
  for (uint32_t k : {1024u, 2048u, 2560u, 3072u, 7168u, 9728u}) {
    PackSpec one = {.kind = kind, .rows = kPanelRows, .k = k, .k_origin = 0};
    size_t panel_bytes = one.codes_panel_bytes() + one.scales_panel_bytes();
    auto panels = static_cast<uint32_t>(kRotatedBytes / panel_bytes / kChunkPanels * kChunkPanels);
    Problem problem = make_problem(kind, panels, k / kBlock, 0, kMaxRows, Fill::kRandom, 1);
    Bench bench = {.problem = problem,
                   .limits = kernels.limits,
                   .gemm = kernels.gemm[static_cast<size_t>(kind)],
                   .desks = std::vector<Desk>(threads)};
    Result one_row = bench.gemv();
    fmt::print("{:6} K={:<5} M=1: {:5.1f} GB/s {:4.0f} %", name, k, one_row.best(),
               median(one_row.shares));
    if (threads == 1) {
      fmt::print("  GOPS:");
      for (uint32_t m : {4u, 8u, 16u, 64u, 512u}) {
        Result r = bench.many(m);
        fmt::print("  M={} {:5.0f} {:3.0f} %", m, r.best(), median(r.shares));
      }
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  std::string_view only = argc > 1 ? argv[1] : "";
  Isa isa = choose_isa(detect_cpu_features(), argc > 2 ? argv[2] : nullptr);
  const uint32_t threads = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  const Kernels& kernels = kernels_for(isa);
  fmt::print(
      "shares: M=1 of a read loop over the same bytes, else of the peak of the kind's "
      "instruction\n");
  for (size_t i = 0; i < kPackKinds; ++i) {
    auto kind = static_cast<PackKind>(i);
    std::string_view name = pack_kind_name(kind);
    if (only.empty() || only == name) bench_kind(kernels, kind, name, threads);
  }
  return 0;
}
