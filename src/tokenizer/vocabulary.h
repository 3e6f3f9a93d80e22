// Reads the vocabulary of a source and prepares it for a tokenizer: sets the defaults that depend
// on the pre-tokenizer of byte-level BPE, and spells that vocabulary's tokens in the byte-level
// alphabet.
//
// `pre` overrides the pre-tokenizer that the source names; if the source names none and `pre` is
// not given, "default" is used and vocab.warnings says so.
//
// Errors: those of reading the source; a pre-tokenizer that this program does not know
// (kUnsupported); a `pre` that is unknown or given for another kind of vocabulary (kUsage).
#pragma once

#include <optional>
#include <string>

#include "formats/model_source.h"

namespace hearth {

Vocab read_vocabulary(const ModelSource& source,
                      const std::optional<std::string>& pre = std::nullopt);

}  // namespace hearth
