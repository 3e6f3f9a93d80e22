#include "accelerator/check_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "accelerator/call_problems.h"
#include "accelerator/virtual/run_call.h"
#include "base/clock.h"
#include "kernels/gemm/gemm_problem.h"

namespace hearth {
namespace {

// The most seconds that a call may take. Software drivers are slow, above all while compilers run
// on the same machine.
constexpr double kPatience = 120;

float float_at(std::span<const std::byte> memory, size_t at) {
  float x;
  std::memcpy(&x, &memory[at], sizeof x);
  return x;
}

class Check {
 public:
  Check(Accelerator& accelerator, uint32_t seed)
      : accelerator_(accelerator), random_(seed), timeline_(accelerator.make_timeline()) {}

  KernelCheck check(const Contract& contract) {
    KernelCheck found{.contract = contract.name};
    for (const auto& make : contract.problems) {
      CallProblem problem = make(0, random_);
      const Buffer buffer = accelerator_.allocate(problem.memory.size());
      for_each_place(&problem.call, [&](Place* place) {
        if (*place) place->buffer = buffer.id();
      });
      if (!compare(problem, buffer, &found)) break;
    }
    return found;
  }

 private:
  // Computes the problem on both sides and compares the results. Returns false where the
  // accelerator cannot do the call.
  bool compare(const CallProblem& problem, const Buffer& buffer, KernelCheck* found) {
    found->refused = accelerator_.why_not(problem.call);
    if (!found->refused.empty()) return false;
    ++found->calls;
    std::vector<std::byte> computed = problem.memory;
    found->seconds += compute(problem.call, buffer, &computed);
    // The reference kernels need aligned memory, so they get a copy.
    const PaddedBytes reference(computed.size());
    const std::span<std::byte> expected(reference.data(), computed.size());
    std::ranges::copy(problem.memory, expected.begin());
    run_call(problem.call, [&](const Place& place) { return &expected[place.offset]; });
    settle_nans(problem, computed);
    settle_nans(problem, expected);
    constexpr size_t kWord = 4;
    for (const Access& access : accesses_of(problem.call)) {
      if (access.writes) found->values += access.rows * access.bytes / kWord;
    }
    for (size_t at = 0; at + kWord <= computed.size(); at += kWord) {
      if (std::memcmp(&computed[at], &expected[at], kWord) == 0) continue;
      if (found->differ++ > 0) continue;
      found->first = fmt::format("{}: byte {}: {:a} came and {:a} should", problem.sizes, at,
                                 float_at(computed, at), float_at(expected, at));
    }
    return true;
  }

  double compute(const KernelCall& call, const Buffer& buffer, std::vector<std::byte>* memory) {
    accelerator_.write(buffer.at(), *memory);
    const Moment done{timeline_, ++value_};
    const double begin = steady_seconds();
    accelerator_.submit({{Command{.work = call, .signals = {done}}}});
    accelerator_.wait(done, kPatience);
    const double seconds = steady_seconds() - begin;
    accelerator_.read(buffer.at(), *memory);
    return seconds;
  }

  Accelerator& accelerator_;
  std::mt19937 random_;
  TimelineId timeline_;
  uint64_t value_ = 0;
};

}  // namespace

void check_kernels(Accelerator& accelerator, const CheckAmount& amount,
                   const std::function<void(const KernelCheck&)>& on_check) {
  Check check(accelerator, amount.seed);
  for (const Contract& contract : all_contracts(amount.brief)) {
    if (contract.name.find(amount.only) == std::string::npos) continue;
    if (amount.kinds && contract.kind && std::ranges::count(*amount.kinds, *contract.kind) == 0) {
      continue;
    }
    on_check(check.check(contract));
  }
}

}  // namespace hearth
