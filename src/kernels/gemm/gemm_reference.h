// The reference: GEMM over the elements that a kind's unpacking reads. All kernels are tested
// against `gemm_truth`. The kernels of Isa::kReference (gemm_kernels.h) follow the float chain of
// the contract step by step, so the other levels can be compared with them bit by bit.
#pragma once

#include "kernels/gemm/gemm.h"

namespace hearth {

struct TruthArgs {
  PackKind kind;
  WeightView w;
  uint32_t row;             // of the shard
  uint32_t block0, block1;  // as in GemmArgs
  ActView a;                // the row of activations
};

struct Truth {
  double value;      // the sum of w a
  double magnitude;  // the sum of (|scale code| + |min|) |a|, which bounds a kernel's error
};

// Computes one output in double precision. An activation is code * scale as in the buffers.
Truth gemm_truth(const TruthArgs& t);

}  // namespace hearth
