// The architectures this engine knows, by the name a source gives in general.architecture.
#pragma once

#include <span>
#include <string>

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

// Folders that are known, in the order in which messages name them.
HfFamilies all_hf_families();
// ModelSource::open and open_shape, with all of them.
ModelSource open_model_source(const std::string& path,
                              UnknownTypes unknown = UnknownTypes::kRefuse);
ModelSource open_model_shape(const std::string& path);

}  // namespace hearth
