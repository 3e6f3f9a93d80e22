// The rates of an accelerator, as measure_accelerator.h measures and accelerator_file.h keeps them.
// All figures are whole numbers from 1 on, so that they are the same when they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spread.h"
#include "tensor/pack_kind.h"

namespace hearth {

// The rate of moving `bytes` at a time.
struct TransferRate {
  uint64_t bytes = 0;
  Spread per_second = {};  // bytes
};

// The rate of a product with a matrix of side x side.
struct ProductRate {
  PackKind kind = PackKind::kF32;
  uint32_t rows = 0;  // of activations
  uint32_t side = 0;
  Spread per_second = {};    // multiply-adds: rows * side * side are one product
  std::string refused = {};  // not computed, and why; empty: it was
};

// The rate of a contract that is no product: its work in a second (work_of() of call_time.h).
struct KernelRate {
  std::string contract;      // contract_name()
  uint32_t rows = 0;         // of the calls
  uint32_t length = 0;       // floats of a row; of attention, and of what it stores, of a head
  Spread per_second = {};    // work
  std::string refused = {};  // not computed, and why; empty: it was
};

struct AcceleratorRates {
  // Rates of Accelerator::write() and read(), from memory of the process and back.
  TransferRate write, read;
  // Rates of its own copies from and to memory of the process where it lies.
  std::optional<TransferRate> import_to, import_from;
  std::string import_refused;  // why there are none of these
  // Copies within its memory: bytes that are read and bytes that are written, together.
  TransferRate memory;
  // The time from the submission of next to nothing until the host knows that it has ended.
  Spread submission_nanoseconds;
  // The time of an ordered command in a long list that does next to nothing; none: it was not
  // measured.
  std::optional<Spread> command_nanoseconds = {};
  std::vector<ProductRate> products;
  std::vector<KernelRate> kernels = {};
};

}  // namespace hearth
