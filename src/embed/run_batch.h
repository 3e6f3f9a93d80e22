// Runs one batch on one device and returns its vectors, or the error instead of them. Only a
// shortage of memory is thrown; it is a failure of the batch and not of the device.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "embed/device.h"

namespace hearth {

// The result of a device's thread.
struct BatchResult {
  std::vector<EmbedVector> vectors;
  std::optional<Error> error;
};

BatchResult run_batch(EmbedDevice& device, const std::vector<const EmbedQuery*>& batch);

}  // namespace hearth
