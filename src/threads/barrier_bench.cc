// Measures nanoseconds per barrier, beside std::barrier:  barrier_bench [--benchmark_filter=...]
// Compare within one run and by minimum: other processes on the machine disturb both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <barrier>
#include <chrono>

#include "threads/barrier.h"
#include "threads/team.h"

namespace hearth {
namespace {

constexpr int kRounds = 200;
// The number of batches is fixed. On a busy machine the benchmark library, which extrapolates from
// a first short run, would choose far too many.
constexpr int kBatches = 500;

// Reports the shortest of all batches as ns_min: the cost of the barrier without interference.
template <typename Sync>
void measure(benchmark::State& state, Team& team, const Sync& sync) {
  double shortest = 1e30;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    team.run([&](uint32_t member) noexcept {
      for (int i = 0; i < kRounds; ++i) sync(member);
    });
    std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count() * 1e-9 / kRounds);
    shortest = std::min(shortest, time.count() / kRounds);
  }
  state.counters["ns_min"] = shortest;
}

void flag_barrier(benchmark::State& state) {
  auto threads = static_cast<uint32_t>(state.range(0));
  Team team(place_threads(Machine::live(), {.threads = threads}), {.pin_caller = true});
  Barrier barrier(threads);
  measure(state, team, [&](uint32_t member) noexcept { barrier.arrive_and_wait(member); });
}

void std_barrier(benchmark::State& state) {
  auto threads = static_cast<uint32_t>(state.range(0));
  Team team(place_threads(Machine::live(), {.threads = threads}), {.pin_caller = true});
  std::barrier barrier(static_cast<std::ptrdiff_t>(threads));
  measure(state, team, [&](uint32_t) noexcept { barrier.arrive_and_wait(); });
}

void team_run(benchmark::State& state) {
  auto threads = static_cast<uint32_t>(state.range(0));
  Team team(place_threads(Machine::live(), {.threads = threads}), {.pin_caller = true});
  for (auto _ : state) team.run([](uint32_t) noexcept {});
}

// Measures a job whose members were asleep, because they rested (`recalled`) or because there was
// no job (`started`). The time until they fall asleep is not measured.
template <typename Before>
void wake_up(benchmark::State& state, const Before& before) {
  auto threads = static_cast<uint32_t>(state.range(0));
  Team team(place_threads(Machine::live(), {.threads = threads}), {.pin_caller = true});
  for (auto _ : state) {
    before(team);
    while (team.sleepers() < threads - 1) {
    }
    auto start = std::chrono::steady_clock::now();
    team.run([](uint32_t) noexcept {});
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count());
  }
}

void started(benchmark::State& state) {
  wake_up(state, [](Team&) {});
}

void recalled(benchmark::State& state) {
  wake_up(state, [](Team& team) {
    const uint32_t alone = 0;
    team.run_on({&alone, 1}, [](uint32_t) noexcept {});
  });
}

BENCHMARK(flag_barrier)->Arg(2)->Arg(4)->UseManualTime()->Iterations(kBatches);
BENCHMARK(std_barrier)->Arg(2)->Arg(4)->UseManualTime()->Iterations(kBatches);
BENCHMARK(team_run)->Arg(2)->Arg(4)->UseRealTime()->Iterations(kBatches);
BENCHMARK(started)->Arg(2)->UseManualTime()->Iterations(kBatches);
BENCHMARK(recalled)->Arg(2)->UseManualTime()->Iterations(kBatches);

}  // namespace
}  // namespace hearth

BENCHMARK_MAIN();
