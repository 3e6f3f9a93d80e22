// attention_bench: attention of one KV head on one core, for every level and KV type, with keys and
// values of 128 elements.
//
//   prefill/<level>/<type>/<positions>  64 rows: 16 tokens of 4 query heads, the last of so many
//     positions; GOPS counts 4 x rows x positions x 128, "of peak" is their share of a loop of
//     nothing but FP32 FMA, or int16 dot for q8_0
//   alibi/<level>/<type>/<positions>  the same with slopes
//   decode/<level>/<type>/<heads>/<positions>  one token of so many query heads; GB/s counts the
//     pages, "of read" is their share of a plain read loop over the same pages
//
// 65536 positions of f16 are 32 MiB, so decode reads them from memory or a large last-level cache.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "kernels/attention/test_attention_problem.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kHeadDim = 128;
constexpr uint32_t kTokens = 16;
constexpr uint32_t kHeads = 4;

struct Case {
  Isa isa;
  KvType type;
  uint32_t positions;
  Queries queries;
};

// Returns the CPU time of this thread, which the counters' rates use, too.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the best rate of five calls of fn. A rate is the amount that fn returns, over the seconds
// that the call took.
template <typename Fn>
double best_rate(Fn&& fn) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    double start = thread_seconds();
    double done = fn();
    best = std::max(best, done / (thread_seconds() - start));
  }
  return best;
}

double peak(const LimitLoops& limits, KvType type) {
  UnitFn loop = limits.unit[static_cast<size_t>(arithmetic_unit_for(type, units_of(limits)))];
  return best_rate([&] { return loop(200'000); });
}

double read_limit(const LimitLoops& limits, const KvHead& head) {
  size_t half = kv_half_bytes(head.type(), head.key_length()) / kReadGranule * kReadGranule;
  return best_rate([&] {
    uint64_t sink = 0;
    for (const KvPage& page : head.pages()) {
      sink ^= limits.read(page.k, half) ^ limits.read(page.v, half);
    }
    benchmark::DoNotOptimize(sink);
    return static_cast<double>(head.pages().size() * 2 * half);
  });
}

void run(benchmark::State& state, const Case& c) {
  KvHead head(c.type, kHeadDim, c.positions);
  head.fill(kernels_for(c.isa).kv_store[static_cast<size_t>(c.type)], 1);
  AttendFn attend = kernels_for(c.isa).attend[static_cast<size_t>(c.type)];
  std::vector<CacheLine> scratch(kAttendScratchBytes / sizeof(CacheLine));
  std::vector<float> out(c.queries.q.size());
  AttendArgs args{.q = c.queries.q.data(),
                  .q_offset = c.queries.offset.data(),
                  .last = c.queries.last.data(),
                  .rows = c.queries.rows,
                  .window = 0,
                  .pages = head.pages().data(),
                  .key_length = kHeadDim,
                  .value_length = kHeadDim,
                  .scale = c.queries.scale,
                  .out = out.data(),
                  .out_offset = c.queries.out_offset.data(),
                  .scratch = scratch.data()->bytes,
                  .four_places = kernels_for(c.isa).attend_places == 4,
                  .slope = c.queries.slope.empty() ? nullptr : c.queries.slope.data(),
                  .position = c.queries.slope.empty() ? nullptr : c.queries.last.data()};
  for (auto _ : state) {
    attend(args);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  auto runs = static_cast<double>(state.iterations());
  double ops = 4.0 * c.queries.rows * c.positions * kHeadDim;
  auto bytes = static_cast<double>(head.bytes());
  const LimitLoops& limits = kernels_for(c.isa).limits;
  auto rate = [&](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(runs * amount, benchmark::Counter::kIsRate);
  };
  rate("GOPS", ops * 1e-9);
  rate("of peak", ops / peak(limits, c.type));
  rate("GB/s", bytes * 1e-9);
  rate("of read", bytes / read_limit(limits, head));
}

void add(const std::string& name, Case c) {
  benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
    run(state, c);
  })->Unit(benchmark::kMicrosecond);
}

void add_all(Isa isa, KvType type) {
  std::string kernel = fmt::format("{}/{}", isa_name(isa), kv_type_name(type));
  for (uint32_t positions : {512u, 4096u}) {
    Queries queries(kTokens * kHeads, kHeadDim, 2);
    for (uint32_t i = 0; i < queries.rows; ++i) {
      queries.last[i] = positions - kTokens + i / kHeads;
    }
    add(fmt::format("prefill/{}/{}", kernel, positions), {isa, type, positions, queries});
    queries.slope.assign(queries.rows, 0.1f);
    add(fmt::format("alibi/{}/{}", kernel, positions), {isa, type, positions, queries});
  }
  for (uint32_t heads : {1u, 4u, 8u}) {
    for (uint32_t positions : {4096u, 65536u}) {
      Queries queries(heads, kHeadDim, 3);
      queries.last.assign(heads, positions - 1);
      add(fmt::format("decode/{}/{}/{}", kernel, heads, positions),
          {isa, type, positions, queries});
    }
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  for (Isa isa : available_isas(detect_cpu_features())) {
    if (isa == Isa::kReference) continue;
    for (size_t type = 0; type < kKvTypes; ++type) add_all(isa, static_cast<KvType>(type));
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
