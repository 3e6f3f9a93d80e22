// How fast an accelerator is: its link, its memory, products by kind and rows, other kernels, and
// how long it takes to begin and end anything. Sizes are chosen by first tries, so that a slow
// accelerator is measured in about the same time as a fast one; figures are of several repetitions
// each, which follow some that do not count.
//
// Commands of a measurement are submitted ahead and begin at a signal, one after the other: no
// recording by the host is in their time. Products take turns with several copies of their matrix
// where there is time for several, so that a large cache does not stand for the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/accelerator_rates.h"

namespace hearth {

struct MeasureOptions {
  // The seconds that measuring takes, about, where the accelerator is slow. The least sizes are
  // measured whatever that takes.
  double seconds = 10;
  uint64_t piece_bytes = uint64_t{64} << 20;  // at most, of a transfer; a power of two from 4096 on
  uint32_t side = 2048;  // at most, of a product's matrix; a power of two from 256 on
  // The kinds of matrices of products, and the rows of activations, growing.
  std::vector<PackKind> kinds = {PackKind::kQ8_0, PackKind::kQ4_0, PackKind::kQ4_K, PackKind::kBF16,
                                 PackKind::kF32};
  std::vector<uint32_t> rows = {1, 16, 128, 1024};
  // The contracts of other calls (contract_name()), among those that there are trials of; none: all
  // of these.
  std::optional<std::vector<std::string>> kernels = {};
  std::function<void(uint32_t done, uint32_t total)> report = {};
};

// Throws Error (kResource) where memory is short or the accelerator is lost.
AcceleratorRates measure_accelerator(Accelerator& accelerator, const MeasureOptions& options);

}  // namespace hearth
