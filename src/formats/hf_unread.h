// Finds keys of a config.json that change what a model computes and that no row of its family
// reads: scales and caps of logits, embeddings and residuals, layers of other kinds. A file of a
// known family in which such a key has an effect is refused (kUnsupported) rather than run without
// it.
#pragma once

#include "formats/config_reader.h"
#include "formats/hf_family.h"

namespace hearth {

void refuse_unread_keys(const ConfigReader& config, const HfFamily& family);

}  // namespace hearth
