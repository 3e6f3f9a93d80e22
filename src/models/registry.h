// The architectures this engine knows, by the name a source gives in general.architecture.
#pragma once

#include <span>

#include "models/spec_builder.h"

namespace hearth {

struct Architecture {
  const char* name;
  // Makes the model's layers and ends.
  void (*describe)(SpecBuilder& m);
};

std::span<const Architecture> all_architectures();
// Throws (kUnsupported) with the list of those known.
const Architecture& architecture_for(const ModelSource& source);

}  // namespace hearth
