// attention_bench: attention of one KV head on one core, for every level and KV type, head_dim 128.
//
//   prefill/<level>/<type>/<positions>       64 rows: 16 tokens of 4 query heads, the last of so
//   many
//                                            positions; GFLOPS counts 4 x rows x positions x 128
//   decode/<level>/<type>/<heads>/<positions>  one token of so many query heads; GB/s counts the
//   pages
//
// 65536 positions of f16 are 32 MiB: what decode reads comes from memory there.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <string>

#include "kernels/attention/attention_problem.h"
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
                  .head_dim = kHeadDim,
                  .scale = c.queries.scale,
                  .out = out.data(),
                  .out_offset = c.queries.offset.data(),
                  .scratch = scratch.data()->bytes};
  for (auto _ : state) {
    attend(args);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  auto runs = static_cast<double>(state.iterations());
  double flops = 4.0 * c.queries.rows * c.positions * kHeadDim;
  state.counters["GFLOPS"] = benchmark::Counter(runs * flops * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(runs * static_cast<double>(head.bytes()) * 1e-9,
                                              benchmark::Counter::kIsRate);
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
