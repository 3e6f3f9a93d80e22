// What the cost model needs to know of a model: its hyper-parameters and the type of every matrix.
#pragma once

#include <vector>

#include "formats/gguf.h"
#include "models/config.h"
#include "tensor/dtype.h"

namespace hearth {

struct LayerTypes {
  DType q, k, v, output, gate, up, down;
};

struct ModelShape {
  DecoderConfig config;
  std::vector<LayerTypes> layers;
  DType head;  // of output.weight, or of the embedding table where the file ties them
  DType embedding;
};

// From the tensors that models/decoder.h names. Throws (kFile) where one is missing.
ModelShape read_model_shape(const GgufFile& file, const DecoderConfig& config);

// All matrices of one type but the head and the embedding table, which is tied to it.
ModelShape uniform_shape(const DecoderConfig& config, DType type, DType head);

}  // namespace hearth
