// The architectures this engine knows, by the name a GGUF file gives in general.architecture.
#pragma once

#include <span>
#include <string>

#include "formats/gguf.h"
#include "models/config.h"
#include "models/decoder.h"

namespace hearth {

struct Architecture {
  const char* name;
  // Sets what is the architecture's own in a config that holds what all share.
  void (*configure)(const GgufFile& file, DecoderConfig* config);
  void (*build)(DecoderBuilder& model);
};

std::span<const Architecture> all_architectures();

// Throws (kUnsupported) with the list of those known.
const Architecture& architecture_for(const GgufFile& file);

}  // namespace hearth
