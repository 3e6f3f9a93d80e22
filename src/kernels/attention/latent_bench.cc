// latent_bench: attention over latents of 512 + 64 elements, for every level and KV type. In
// `latent` the rows are the heads of one token, which read latents directly (the absorbed form). In
// `expanded` the rows are the last <rows> tokens of a sequence, for one head; its keys of 128 + 64
// elements and its values of 128 are made of the latents.
//
//   latent/<level>/<type>/<heads>/<positions>/threads:<n>  every thread has its own query, like
//     tokens of n sequences; GOPS counts 2 x heads x positions x (576 + 512) for each thread, "of
//     peak" is their share of a loop of nothing but FP32 FMA on as many threads
//   expanded/<level>/<type>/<rows>/<positions>/threads:<n>  every thread has its own head; GOPS
//     counts 2 x (192 + 128) for a row and a position that it sees, and 2 x 512 x (128 + 128) for a
//     position
//
// "ns/pair" is the time for a query and a position that it sees. It serves to compare the two
// forms.
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

// Returns the CPU time of this thread, which the counters' rates use, too.
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

// The memory that a thread works on.
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

  double pairs() const { return 1.0 * c_.heads * c_.positions; }
  double operations() const { return 2 * pairs() * (kKey + kValue); }

 private:
  Case c_;
  KvHead head_;
  Queries queries_;
  std::vector<CacheLine> scratch_, sums_, merged_;
  std::vector<float> out_;
};

// A benchmark's expanded head with its rows, whose number is Case::heads.
class ExpandedProblem {
 public:
  explicit ExpandedProblem(const Case& c)
      : c_(c),
        head_(c.type, {kKey, 0}, c.positions),
        queries_(c.heads, {kNopeLength + kRopeLength, kHeadValue}, 3),
        key_(floats_of(expand_key_floats(kNopeLength, kValue))),
        value_(floats_of(expand_value_floats(kHeadValue, kValue))),
        pages_(floats_of(kSpanPages * kPageFloats)),
        scratch_(kLatentScratchBytes / sizeof(CacheLine)),
        sums_(floats_of(row_sums_floats(kMaxLatentRows, kHeadValue))),
        merged_(floats_of(row_sums_floats(kMaxLatentRows, kHeadValue) *
                          ((c.heads + kMaxLatentRows - 1) / kMaxLatentRows))),
        out_(queries_.q.size()) {
    head_.fill(kernels_for(c.isa).store_latent[static_cast<size_t>(c.type)], 1);
    for (uint32_t r = 0; r < c.heads; ++r) queries_.last[r] = c.positions - c.heads + r;
    for (size_t p = 0; p < kSpanPages; ++p) {
      float* keys = floats(pages_) + p * kPageFloats;
      expanded_.push_back(
          {reinterpret_cast<std::byte*>(keys), reinterpret_cast<std::byte*>(keys + kKeyFloats)});
    }
  }

  void run() {
    const uint32_t positions = kSpanPages * kPagePositions;
    for (uint32_t span = 0; span < c_.positions / positions; ++span) {
      for (uint32_t p = 0; p < kSpanPages; ++p) expand(span * kSpanPages + p, p);
      for (uint32_t row = 0; row < c_.heads; row += kMaxLatentRows) {
        if (queries_.last[std::min(row + kMaxLatentRows, c_.heads) - 1] >= span * positions) {
          attend(span, row);
        }
      }
    }
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

  double pairs() const {
    double pairs = 0;
    for (uint32_t last : queries_.last) pairs += last + 1.0;
    return pairs;
  }
  double operations() const {
    return 2 * pairs() * (kNopeLength + kRopeLength + kHeadValue) +
           2.0 * c_.positions * kValue * (kNopeLength + kHeadValue);
  }

 private:
  static constexpr uint32_t kNopeLength = 128, kRopeLength = kKey - kValue, kHeadValue = 128;
  static constexpr size_t kKeyFloats = expanded_key_floats(kNopeLength + kRopeLength);
  static constexpr size_t kPageFloats = kKeyFloats + expanded_value_floats(kHeadValue);

  static std::vector<CacheLine> floats_of(size_t count) {
    return std::vector<CacheLine>((count * sizeof(float) + 63) / 64);
  }
  static float* floats(std::vector<CacheLine>& lines) {
    return reinterpret_cast<float*>(lines.data());
  }

  void expand(uint32_t page, uint32_t p) {
    const bool more = page + 1 < head_.pages().size();
    kernels_for(c_.isa).expand_latent[static_cast<size_t>(c_.type)](
        {.page = head_.pages()[page].k,
         .slots = kPagePositions,
         .kv_lora_rank = kValue,
         .rope_length = kRopeLength,
         .nope_length = kNopeLength,
         .value_length = kHeadValue,
         .key = floats(key_),
         .value = floats(value_),
         .keys = reinterpret_cast<float*>(expanded_[p].k),
         .values = reinterpret_cast<float*>(expanded_[p].v),
         .scratch = scratch_.data()->bytes,
         .next = more ? head_.pages()[page + 1].k : nullptr});
  }

  void attend(uint32_t span, uint32_t row) {
    const uint32_t rows = std::min(kMaxLatentRows, c_.heads - row);
    const uint32_t last_span = queries_.last[row + rows - 1] / (kSpanPages * kPagePositions);
    kernels_for(c_.isa).attend_expanded({.q = queries_.q.data(),
                                         .q_offset = queries_.offset.data() + row,
                                         .last = queries_.last.data() + row,
                                         .rows = rows,
                                         .window = 0,
                                         .pages = expanded_.data(),
                                         .key_length = kNopeLength + kRopeLength,
                                         .value_length = kHeadValue,
                                         .scale = queries_.scale,
                                         .out = nullptr,
                                         .out_offset = nullptr,
                                         .scratch = scratch_.data()->bytes,
                                         .sums = floats(sums_),
                                         .span0 = span,
                                         .span1 = span + 1});
    const size_t merged = row_sums_floats(kMaxLatentRows, kHeadValue) * (row / kMaxLatentRows);
    kernels_for(c_.isa).merge_spans({.sums = floats(sums_),
                                     .spans = 1,
                                     .rows = rows,
                                     .value_length = kHeadValue,
                                     .merged = floats(merged_) + merged,
                                     .first = span == 0,
                                     .out = span == last_span ? out_.data() : nullptr,
                                     .out_offset = queries_.out_offset.data() + row});
  }

  Case c_;
  KvHead head_;
  Queries queries_;
  std::vector<CacheLine> key_, value_, pages_, scratch_, sums_, merged_;
  std::vector<KvPage> expanded_;
  std::vector<float> out_;
};

template <typename Kind>
void run(benchmark::State& state, const Case& c) {
  Kind problem(c);
  const double limit = peak(kernels_for(c.isa).limits);
  for (auto _ : state) problem.run();
  const double ops = problem.operations();
  const auto runs = static_cast<double>(state.iterations());
  auto rate = [&](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(runs * amount, benchmark::Counter::kIsRate);
  };
  rate("GOPS", ops * 1e-9);
  rate("of peak", ops / limit);
  state.counters["ns/pair"] = benchmark::Counter(
      runs * problem.pairs() * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  using namespace hearth;
  auto add = [](const char* form, const Case& c, auto fn) {
    const std::string name = fmt::format("{}/{}/{}/{}/{}", form, isa_name(c.isa),
                                         kv_type_name(c.type), c.heads, c.positions);
    benchmark::RegisterBenchmark(name.c_str(), fn)
        ->ThreadRange(1, 2)
        ->Unit(benchmark::kMillisecond);
  };
  for (Isa isa : available_isas(detect_cpu_features())) {
    if (isa == Isa::kReference) continue;
    for (size_t type = 0; type < kKvTypes; ++type) {
      for (uint32_t positions : {2048u, 8192u}) {
        for (uint32_t heads : {16u, 64u, 128u}) {
          const Case c{isa, static_cast<KvType>(type), heads, positions};
          add("latent", c, [c](benchmark::State& state) { run<Problem>(state, c); });
        }
        for (uint32_t rows : {64u, 128u, 256u, 512u}) {
          const Case c{isa, static_cast<KvType>(type), rows, positions};
          add("expanded", c, [c](benchmark::State& state) { run<ExpandedProblem>(state, c); });
        }
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
