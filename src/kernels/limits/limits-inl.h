// Chains of one instruction side by side, for the ISA files of this folder. An including file first
// defines HEARTH_REGISTER, the asm constraint of a vector register that is read and written.
#pragma once

#include <cstddef>
#include <utility>

namespace hearth {
namespace {

// Keeps the compiler from assuming anything about a register's value, so that it computes nothing
// in advance.
template <typename Register>
void keep(Register& x) {
  __asm__ volatile("" : HEARTH_REGISTER(x));
}

template <typename Register, typename Step, size_t... I>
void run_chains(size_t rounds, Register start, Step step, std::index_sequence<I...>) {
  Register acc[] = {(static_cast<void>(I), start)...};
  for (size_t i = 0; i < rounds; ++i) {
    ((acc[I] = step(acc[I])), ...);
    (keep(acc[I]), ...);
  }
}

// Runs `rounds` rounds, in each of which every one of kChains chains takes a step of `ops`
// operations. Returns how many operations these are together.
template <size_t kChains, typename Register, typename Step>
double chains(size_t rounds, Register start, double ops, Step step) {
  run_chains(rounds, start, step, std::make_index_sequence<kChains>());
  return static_cast<double>(rounds) * kChains * ops;
}

}  // namespace
}  // namespace hearth
