// The vocabulary of a source, ready for a tokenizer: what follows from the pre-tokenizer of a
// byte-level BPE vocabulary is settled, and its tokens are spelled in that alphabet.
//
// `pre` overrides the pre-tokenizer that the source names; where it names none and `pre` is not
// given, "default" is used and vocab.warnings says so.
//
// Errors: those of reading the source; a pre-tokenizer that this program does not know
// (kUnsupported); the field `pre` that is not known or is given for another kind of vocabulary
// (kUsage).
#pragma once

#include <optional>
#include <string>

#include "formats/model_source.h"

namespace hearth {

Vocab read_vocabulary(const ModelSource& source,
                      const std::optional<std::string>& pre = std::nullopt);

}  // namespace hearth
