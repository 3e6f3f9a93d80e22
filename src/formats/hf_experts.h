// Joins the matrices, and biases, of a layer's experts into one tensor of three dimensions, as GGUF
// has it. A folder has one tensor for each expert, or one for all (formats/hf_family.h).
//
// Errors (kFile): experts that are missing or differ in shape or type, shapes that contradict
// config.json. (kUnsupported): FP8 experts in one tensor.
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

  // Adds the joined tensor of all experts of the layer, when the first of their tensors is met.
  void add_expert(const SafeTensor& tensor, const HfName& what);
  // Adds one tensor [experts][rows][k] that holds all experts of a layer, unchanged.
  void add_matrices(const SafeTensor& tensor, const std::string& name);
  // Adds a part of one tensor that holds all experts: of each expert the rows from `first` on,
  // every `step`th.
  void add_stack(const SafeTensor& tensor, const std::string& name, uint64_t first, uint32_t step);

 private:
  void add_transposed_stack(const SafeTensor& tensor, const std::string& name, uint64_t first,
                            uint32_t step);
  void add_stacked_bias(const SafeTensor& tensor, const std::string& name, uint64_t first,
                        uint32_t step);

  HfMade& made_;
  std::set<std::string> met_;  // names of joined tensors that were added
};

}  // namespace hearth
