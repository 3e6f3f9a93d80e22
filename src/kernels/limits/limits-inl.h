// Chains of one instruction side by side, for the ISA files of this folder. An including file first
// defines keep(Register&): an empty asm over the register, which keeps the compiler from folding
// what does not change.
#pragma once

#include <cstddef>
#include <utility>

namespace hearth {
namespace {

template <typename Register, typename Step, size_t... I>
void run_chains(size_t rounds, Register start, Step step, std::index_sequence<I...>) {
  Register acc[] = {(static_cast<void>(I), start)...};
  for (size_t i = 0; i < rounds; ++i) {
    ((acc[I] = step(acc[I])), ...);
    (keep(acc[I]), ...);
  }
}

// `ops`: operations of one step. Returns those of all.
template <size_t kChains, typename Register, typename Step>
double chains(size_t rounds, Register start, double ops, Step step) {
  run_chains(rounds, start, step, std::make_index_sequence<kChains>());
  return static_cast<double>(rounds) * kChains * ops;
}

}  // namespace
}  // namespace hearth
