// The architectures this engine knows, by the name a source gives in general.architecture.
#pragma once

#include <span>

#include "models/layers.h"
#include "models/model_spec.h"

namespace hearth {

struct Architecture {
  const char* name;
  // Declares the model's axes, weights and layers.
  void (*describe)(SpecBuilder& spec);
  // Calls its layers.
  void (*build)(Layers& layers);
  ArchitectureKind kind = {};
};

std::span<const Architecture> all_architectures();
// Throws (kUnsupported) with the list of those known.
const Architecture& architecture_for(const ModelSource& source);

}  // namespace hearth
