// The matrices of a layer's experts, and biases, which become one tensor of three dimensions: of
// tensors that are one expert's each, or of one that has all of them (formats/hf_family.h).
//
// Errors (kFile): experts that are missing or unlike each other, shapes that do not fit
// config.json; of FP8 in one tensor kUnsupported.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "formats/hf_made.h"
#include "formats/hf_names.h"

namespace hearth {

class HfExperts {
 public:
  explicit HfExperts(HfMade& made) : made_(made) {}

  // Adds all experts of the layer when the first in the files is met.
  void add_expert(const SafeTensor& tensor, const HfName& what);
  // Adds all experts of the layer in one tensor, [experts][rows][k], as it is.
  void add_matrices(const SafeTensor& tensor, const std::string& name);
  // Adds one tensor that holds all experts: from each one the rows from `first` on, every `step`th.
  void add_stack(const SafeTensor& tensor, const std::string& name, uint64_t first, uint32_t step);

 private:
  void add_transposed_stack(const SafeTensor& tensor, const std::string& name, uint64_t first,
                            uint32_t step);
  void add_stacked_bias(const SafeTensor& tensor, const std::string& name, uint64_t first,
                        uint32_t step);

  HfMade& made_;
  std::set<std::string> met_;  // of which all are there
};

}  // namespace hearth
