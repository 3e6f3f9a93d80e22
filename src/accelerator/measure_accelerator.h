// Measures how fast an accelerator is: its link, its memory, products by kind and rows, other
// kernels, and the cost of a submission and of a command. First tries choose the sizes, so
// measuring a slow accelerator takes about as long as measuring a fast one. Every figure comes from
// several repetitions, after some that do not count.
//
// The commands to be measured are submitted beforehand, and begin one after the other at a signal.
// So their time does not include the host's recording. A product takes turns with several copies of
// its matrix, if there is time for them. So a large cache does not hide the memory's speed.
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
  // The seconds that measuring takes on a slow accelerator, roughly. The smallest sizes are always
  // measured, so it may take longer.
  double seconds = 10;
  // The longest transfer in bytes; a power of two from 4096 on.
  uint64_t piece_bytes = uint64_t{64} << 20;
  uint32_t side = 2048;  // the longest side of a matrix; a power of two from 256 on
  // The kinds of the products' matrices, and the rows of activations in ascending order.
  std::vector<PackKind> kinds = {PackKind::kQ8_0, PackKind::kQ4_0, PackKind::kQ4_K, PackKind::kBF16,
                                 PackKind::kF32};
  std::vector<uint32_t> rows = {1, 16, 128, 1024};
  // The contracts (contract_name()) that are measured, beside products, out of those that have a
  // KernelTrial; none: all of them.
  std::optional<std::vector<std::string>> kernels = {};
  std::function<void(uint32_t done, uint32_t total)> report = {};
};

// Measures all rates. Throws Error (kResource) where memory is short or the accelerator is lost.
AcceleratorRates measure_accelerator(Accelerator& accelerator, const MeasureOptions& options);

}  // namespace hearth
