// The architectures this engine knows, by their names in general.architecture.
#pragma once

#include <span>
#include <string>

#include "models/spec_builder.h"

namespace hearth {

struct Architecture {
  const char* name;
  // Makes the model's layers, its start and its end.
  void (*describe)(SpecBuilder& m);
};

std::span<const Architecture> all_architectures();
// Returns the source's architecture. Throws Error (kUnsupported) with a list of the known ones.
const Architecture& architecture_for(const ModelSource& source);

// Returns all families of Hugging Face folders, in the order in which messages name them.
HfFamilies all_hf_families();
// Call ModelSource::open and ModelSource::open_shape with all families.
ModelSource open_model_source(const std::string& path,
                              UnknownTypes unknown = UnknownTypes::kRefuse);
ModelSource open_model_shape(const std::string& path);

}  // namespace hearth
