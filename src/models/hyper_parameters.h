// The hyper-parameters of a model as a whole, read from its source's metadata and checked against
// the limits of kernels and ops. Hyper-parameters of a block are read where the block is made
// (models/make_blocks.h).
#pragma once

#include <cstdint>

#include "formats/model_numbers.h"
#include "models/model_keys.h"

namespace hearth {

const char* pooling_name(PoolingType pooling);  // "mean"

struct HyperParameters {
  uint32_t layers = 0;
  uint32_t skipped_layers = 0;  // behind the others, to predict several tokens; not run
  uint32_t width = 0;           // embedding_length
  uint32_t vocabulary = 0;
  uint32_t context = 0;  // the positions that the model was trained for
  PoolingType pooling = PoolingType::kNone;
};

// Throws Error (kFile), naming the key and the fault.
HyperParameters read_hyper_parameters(const ModelKeys& keys);

}  // namespace hearth
