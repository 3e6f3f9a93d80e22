// What an accelerator gets done in a second, as measure_accelerator.h finds out and
// accelerator_file.h keeps it. All figures are whole numbers from 1 on, so that they are the same
// when they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spread.h"
#include "tensor/pack_kind.h"

namespace hearth {

// Of moving `bytes` at a time.
struct TransferRate {
  uint64_t bytes = 0;
  Spread per_second = {};  // bytes
};

// Of a product with a matrix of side x side.
struct ProductRate {
  PackKind kind = PackKind::kF32;
  uint32_t rows = 0;  // of activations
  uint32_t side = 0;
  Spread per_second = {};    // multiply-adds: rows * side * side are one product
  std::string refused = {};  // not computed, and why; empty: it was
};

// Of a contract that is no product: its work in a second (work_of() of call_time.h).
struct KernelRate {
  std::string contract;      // contract_name()
  uint32_t rows = 0;         // of the calls
  uint32_t length = 0;       // floats of a row; of attention, and of what it stores, of a head
  Spread per_second = {};    // work
  std::string refused = {};  // not computed, and why; empty: it was
};

struct AcceleratorRates {
  // From memory of the process and back, by Accelerator's functions of these names.
  TransferRate write, read;
  // By copies of its own from and to memory of the process where it lies.
  std::optional<TransferRate> import_to, import_from;
  std::string import_refused;  // why there are none of these
  // Copies within its memory: bytes that are read and bytes that are written, together.
  TransferRate memory;
  // From the submission of next to nothing until the host knows that it has ended.
  Spread submission_nanoseconds;
  // Of a long list, an ordered command that does next to nothing; none: it was not measured.
  std::optional<Spread> command_nanoseconds = {};
  std::vector<ProductRate> products;
  std::vector<KernelRate> kernels = {};
};

}  // namespace hearth
