// recurrent_bench: the kernels of a gated delta rule on one core, for every level, with heads of
// 128 x 128.
//
//   rule/<level>/<rows>  so many rows of one sequence and one head. Values lie 8192 floats apart,
//     queries and keys side by side
//   decode/<level>       one row a call. The states of 30 layers with 32 heads, 60 MiB, take turns
//     and are updated in place
//   conv/<level>/<rows>  8192 channels, 4 taps
//   gates/<level>        the norms of queries and keys, gates and gated norm of a row of 32 heads,
//     16 of them with keys
//
// "us/head" is the microseconds for one head and row. "of FMA" is how much of that time 3 x 128 x
// 128 multiply-adds would take at the rate of a loop of nothing but FP32 FMA.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kLength = 128;
constexpr uint32_t kHeads = 32;
constexpr uint32_t kKeyHeads = 16;
constexpr uint32_t kLayers = 30;
constexpr uint32_t kChannels = (2 * kKeyHeads + kHeads) * kLength;
constexpr uint32_t kTaps = 4;
constexpr size_t kHeadFloats = delta_state_floats(kLength, kLength);

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the multiply-adds a second, the best of some calls.
double fma_rate(const Kernels& kernels) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = thread_seconds();
    const double done =
        kernels.limits.unit[static_cast<size_t>(ArithmeticUnit::kF32Fma)](200'000) / 2;
    best = std::max(best, done / (thread_seconds() - start));
  }
  return best;
}

std::vector<float> small_numbers(size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> part(-0.08f, 0.08f);
  std::vector<float> numbers(count);
  for (float& f : numbers) f = part(random);
  return numbers;
}

// Calls call(i) for ascending i; each call counts as `heads` heads of a row.
void repeat(benchmark::State& state, const Kernels& kernels, double heads,
            const std::function<void(size_t)>& call) {
  size_t i = 0;
  const double start = thread_seconds();
  for (auto _ : state) {
    call(i++);
    benchmark::ClobberMemory();
  }
  const double each = (thread_seconds() - start) / (static_cast<double>(i) * heads);
  state.counters["us/head"] = each * 1e6;
  state.counters["of FMA"] = 3.0 * kLength * kLength / fma_rate(kernels) / each;
}

// Returns the arguments for head `head` of rows whose queries and keys lie in `keys`.
DeltaRuleArgs head_args(const std::vector<float>& keys, const std::vector<float>& rows,
                        const std::vector<float>& gates, uint32_t count, uint32_t head,
                        std::vector<float>& out) {
  return {.q = keys.data(),
          .k = keys.data() + kLength,
          .key_stride = 2 * kLength,
          .v = rows.data() + (2 * kKeyHeads + head) * kLength,
          .value_stride = kChannels,
          .decay = gates.data() + head,
          .beta = gates.data() + head,
          .gate_stride = kHeads,
          .rows = count,
          .length = kLength,
          .columns = kLength,
          .scale = 0.088f,
          .from = nullptr,
          .to = nullptr,
          .out = out.data() + head * kLength,
          .out_stride = kHeads * kLength};
}

void rule(benchmark::State& state, Isa isa, uint32_t rows, size_t heads) {
  const Kernels& kernels = kernels_for(isa);
  const std::vector<float> x = small_numbers(size_t{rows} * kChannels),
                           keys = small_numbers(size_t{rows} * 2 * kLength);
  const std::vector<float> gates(size_t{rows} * kHeads, 0.97f);
  std::vector<float> out(size_t{rows} * kHeads * kLength);
  std::vector<float> states = small_numbers(heads * kHeadFloats);
  repeat(state, kernels, rows, [&](size_t i) {
    DeltaRuleArgs args = head_args(keys, x, gates, rows, i % heads % kHeads, out);
    args.to = states.data() + i % heads * kHeadFloats;
    args.from = args.to;
    kernels.delta_rule(args);
  });
}

void conv(benchmark::State& state, Isa isa, uint32_t rows) {
  const Kernels& kernels = kernels_for(isa);
  const std::vector<float> x = small_numbers(size_t{rows} * kChannels),
                           weight = small_numbers(kTaps * kChannels);
  std::vector<float> tail(kTaps * kChannels), out(x.size());
  repeat(state, kernels, rows * kHeads, [&](size_t) {
    kernels.short_conv({.x = x.data(),
                        .x_stride = kChannels,
                        .weight = weight.data(),
                        .weight_stride = kChannels,
                        .rows = rows,
                        .channels = kChannels,
                        .taps = kTaps,
                        .from = tail.data(),
                        .to = tail.data(),
                        .state_stride = kChannels,
                        .out = out.data(),
                        .out_stride = kChannels});
  });
}

void gates(benchmark::State& state, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  std::vector<float> x = small_numbers(kChannels), gate = small_numbers(kHeads * kLength),
                     out(kHeads * kLength), small = small_numbers(4 * kHeads);
  repeat(state, kernels, kHeads, [&](size_t) {
    for (uint32_t h = 0; h < 2 * kKeyHeads; ++h) {
      float* head = x.data() + h * kLength;
      kernels.unit_norm({head, kLength, 1e-6f, head});
    }
    kernels.delta_gates({small.data(), small.data() + kHeads, small.data(), small.data() + kHeads,
                         kHeads, small.data() + 2 * kHeads, small.data() + 3 * kHeads});
    for (uint32_t h = 0; h < kHeads; ++h) {
      const size_t at = h * kLength;
      kernels.gated_norm({x.data() + 2 * kKeyHeads * kLength + at, x.data(), gate.data() + at,
                          kLength, 1e-6f, out.data() + at});
    }
  });
}

template <typename Fn>
void add(const std::string& name, const Fn& fn) {
  benchmark::RegisterBenchmark(name.c_str(), fn)->Unit(benchmark::kMicrosecond);
}

void add_all(Isa isa) {
  const std::string level = isa_name(isa);
  for (uint32_t rows : {1u, 32u, 512u}) {
    add(fmt::format("rule/{}/{}", level, rows),
        [=](benchmark::State& state) { rule(state, isa, rows, 1); });
  }
  add(fmt::format("decode/{}", level),
      [=](benchmark::State& state) { rule(state, isa, 1, kLayers * kHeads); });
  for (uint32_t rows : {1u, 64u}) {
    add(fmt::format("conv/{}/{}", level, rows),
        [=](benchmark::State& state) { conv(state, isa, rows); });
  }
  add(fmt::format("gates/{}", level), [=](benchmark::State& state) { gates(state, isa); });
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  for (Isa isa : available_isas(detect_cpu_features())) {
    const bool own = isa == Isa::kAvx2 || isa == Isa::kAvx512Bw || isa == Isa::kNeon;
    if (own) add_all(isa);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
