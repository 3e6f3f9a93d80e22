// Tiny models made of a fuzzer's input. They are mostly well-formed GGUF files of every
// architecture, sometimes damaged. The input chooses shapes, hyper-parameters, tensor types and
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "choices.h"

namespace hearth {

struct MadeModel {
  std::vector<std::byte> file;
  uint32_t vocabulary = 1;
  uint32_t layers = 1;
  bool bf16 = false;  // some matrix is BF16
  bool tame = true;   // every number has a usual size, and nothing is damaged
};

MadeModel make_model(Choices& choices);

}  // namespace hearth
