// A GPU that is only described, for tests of time. It has a queue for copies, and everything takes
// no time. A test sets the rates that it is about.
#pragma once

#include <cstdint>

#include "accelerator/accelerator_file.h"
#include "accelerator/call_time.h"

namespace hearth {

inline Spread exactly(double value) { return {value, value, value}; }

inline MeasuredAccelerator fast_gpu() {
  constexpr double kFast = 1e15;
  MeasuredAccelerator gpu;
  gpu.facts = {.name = "a GPU",
               .driver = "",
               .api = "",
               .memory_bytes = uint64_t{1} << 36,
               .free_bytes = 0,
               .allocation_bytes = uint64_t{1} << 34,
               .import_alignment = 4096,
               .queues = {{.computes = true}, {.computes = false}},
               .arithmetic = "",
               .lacks = {}};
  gpu.rates.write = gpu.rates.read = gpu.rates.memory = {1, exactly(kFast)};
  gpu.rates.import_to = gpu.rates.import_from = TransferRate{1, exactly(kFast)};
  gpu.rates.submission_nanoseconds = exactly(1e-6);
  gpu.rates.products = {{PackKind::kF32, 1, 256, exactly(kFast)}};
  return gpu;
}

}  // namespace hearth
