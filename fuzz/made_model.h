// Tiny models made of a fuzzer's input: mostly well-formed GGUF files of every architecture, with
// shapes, hyper-parameters, tensor types and values of the input's choice, and sometimes damage.
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
  bool bf16 = false;  // a matrix is of BF16
  bool tame = true;   // every number is of a usual size, and nothing is damaged
};

MadeModel make_model(Choices& choices);

}  // namespace hearth
