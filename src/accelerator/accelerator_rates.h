// The rates of an accelerator, which measure_accelerator.h measures and accelerator_file.h stores.
// All figures are whole numbers from 1 on, so a file keeps them exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spread.h"
#include "tensor/pack_kind.h"

namespace hearth {

// The rate of transfers of `bytes` bytes each.
struct TransferRate {
  uint64_t bytes = 0;
  Spread per_second = {};  // bytes
};

// The rate of a product with a matrix of side x side.
struct ProductRate {
  PackKind kind = PackKind::kF32;
  uint32_t rows = 0;  // of activations
  uint32_t side = 0;
  Spread per_second = {};    // multiply-adds; one product is rows * side * side
  std::string refused = {};  // why it was not computed; empty: it was
};

// The rate of a contract that is not a product, as work a second. work_of() of call_time.h counts
// the work.
struct KernelRate {
  std::string contract;      // contract_name()
  uint32_t rows = 0;         // of the calls
  uint32_t length = 0;       // floats of a row; for attention and KV stores, of a head
  Spread per_second = {};    // work
  std::string refused = {};  // why it was not computed; empty: it was
};

struct AcceleratorRates {
  // Rates of Accelerator::write() and read(), from memory of the process and back.
  TransferRate write, read;
  // Rates of the accelerator's own copies from and to imported memory of the process.
  std::optional<TransferRate> import_to, import_from;
  std::string import_refused;  // why import_to and import_from are empty
  // The rate of copies within the accelerator's memory. Each byte counts twice: as read and as
  // written.
  TransferRate memory;
  // The time from the submission of a trivial list until the host knows that it has ended.
  Spread submission_nanoseconds;
  // The time that each ordered command takes in a long list of trivial commands; none: not
  // measured.
  std::optional<Spread> command_nanoseconds = {};
  std::vector<ProductRate> products;
  std::vector<KernelRate> kernels = {};
};

}  // namespace hearth
