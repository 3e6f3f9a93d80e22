// Reads a Vocab from the `tokenizer.ggml.*` keys of a GGUF file and applies the rules that hold
// where the file is silent: ids by well-known names, BOS and EOS, the space before SentencePiece
// text, Phi-3's white space after special tokens (docs/tokenizers.md).
//
// `pre` overrides `tokenizer.ggml.pre` of a byte-level BPE vocabulary; where the file has none and
// `pre` is not given, "default" is used and vocab.warnings says so.
//
// Errors, naming the file, the field and the remedy: no vocabulary in the file (kFile); a kind or
// pre-tokenizer that this program does not know (kUnsupported); `pre` that is not known or is given
// for another kind of vocabulary (kUsage); fields that contradict each other (kFile).
#pragma once

#include <optional>
#include <string>

#include "formats/gguf.h"
#include "text/vocab.h"

namespace hearth {

// Whether the file has a vocabulary at all; some are made for weights alone.
bool has_vocabulary(const GgufFile& file);

Vocab vocab_from_gguf(const GgufFile& file, const std::optional<std::string>& pre = std::nullopt);

}  // namespace hearth
