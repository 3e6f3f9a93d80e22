// latent_bench: attention of so many heads of one token over latents of 512 + 64 elements, for
// every level and KV type.
//
//   latent/<level>/<type>/<heads>/<positions>/threads:<n>  every thread has a query of its own,
//     as n sequences' tokens; GOPS counts 2 x heads x positions x (576 + 512) for each, "of peak"
//     is their share of a loop of nothing but FP32 FMA on as many threads
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <random>
#include <string>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kKey = 576, kValue = 512;

struct Case {
  Isa isa;
  KvType type;
  uint32_t heads, positions;
};

// Time that this thread had the core, as the counters' rates have it.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double peak(const LimitLoops& limits) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = thread_seconds();
    const double done = limits.unit[static_cast<size_t>(ArithmeticUnit::kF32Fma)](200'000);
    best = std::max(best, done / (thread_seconds() - start));
  }
  return best;
}

// What a thread works on.
class Problem {
 public:
  explicit Problem(const Case& c)
      : c_(c),
        head_(c.type, {kKey, 0}, c.positions),
        queries_(c.heads, {kKey, kValue}, 3),
        scratch_(kLatentScratchBytes / sizeof(CacheLine)),
        sums_(row_sums_floats(c.heads, kValue) * sizeof(float) / sizeof(CacheLine)),
        merged_(sums_.size()),
        out_(queries_.q.size()) {
    head_.fill(kernels_for(c.isa).store_latent[static_cast<size_t>(c.type)], 1);
    queries_.last.assign(c.heads, c.positions - 1);
  }

  void run() {
    const Kernels& kernels = kernels_for(c_.isa);
    auto* sums = reinterpret_cast<float*>(sums_.data());
    const uint32_t spans = c_.positions / (kSpanPages * kPagePositions);
    for (uint32_t span = 0; span < spans; ++span) {
      kernels.attend_latent[static_cast<size_t>(c_.type)]({.q = queries_.q.data(),
                                                           .q_offset = queries_.offset.data(),
                                                           .last = queries_.last.data(),
                                                           .rows = c_.heads,
                                                           .window = 0,
                                                           .pages = head_.pages().data(),
                                                           .key_length = kKey,
                                                           .value_length = kValue,
                                                           .scale = queries_.scale,
                                                           .out = nullptr,
                                                           .out_offset = nullptr,
                                                           .scratch = scratch_.data()->bytes,
                                                           .sums = sums,
                                                           .span0 = span,
                                                           .span1 = span + 1});
      kernels.merge_spans({.sums = sums,
                           .spans = 1,
                           .rows = c_.heads,
                           .value_length = kValue,
                           .merged = reinterpret_cast<float*>(merged_.data()),
                           .first = span == 0,
                           .out = span + 1 == spans ? out_.data() : nullptr,
                           .out_offset = queries_.out_offset.data()});
    }
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

  size_t bytes() const { return head_.bytes(); }

 private:
  Case c_;
  KvHead head_;
  Queries queries_;
  std::vector<CacheLine> scratch_, sums_, merged_;
  std::vector<float> out_;
};

void run(benchmark::State& state, const Case& c) {
  Problem problem(c);
  const double limit = peak(kernels_for(c.isa).limits);
  for (auto _ : state) problem.run();
  const double ops = 2.0 * c.heads * c.positions * (kKey + kValue);
  const auto runs = static_cast<double>(state.iterations());
  auto rate = [&](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(runs * amount, benchmark::Counter::kIsRate);
  };
  rate("GOPS", ops * 1e-9);
  rate("of peak", ops / limit);
  rate("GB/s", static_cast<double>(problem.bytes()) * 1e-9);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  for (Isa isa : available_isas(detect_cpu_features())) {
    if (isa == Isa::kReference) continue;
    for (size_t type = 0; type < kKvTypes; ++type) {
      for (uint32_t heads : {16u, 64u, 128u}) {
        const Case c{isa, static_cast<KvType>(type), heads, 8192};
        const std::string name = fmt::format("latent/{}/{}/{}/{}", isa_name(isa),
                                             kv_type_name(c.type), heads, c.positions);
        benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) { run(state, c); })
            ->ThreadRange(1, 2)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
