// The hyper-parameters that a model has as a whole, read from the metadata of its source and
// checked against what kernels and ops were built for. Those of a block are read where the block is
// made (models/make_blocks.h).
#pragma once

#include <cstdint>

#include "formats/model_numbers.h"
#include "models/model_keys.h"

namespace hearth {

const char* pooling_name(PoolingType pooling);  // "mean"

struct HyperParameters {
  uint32_t layers = 0;
  uint32_t skipped_layers = 0;  // behind the others, for predicting several tokens; not run
  uint32_t width = 0;           // embedding_length
  uint32_t vocabulary = 0;
  uint32_t context = 0;  // what the model was trained for
  PoolingType pooling = PoolingType::kNone;
};

// Throws (kFile) naming the key and what is wrong with it.
HyperParameters read_hyper_parameters(const ModelKeys& keys);

}  // namespace hearth
