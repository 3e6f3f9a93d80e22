// Reads a Vocab from the `tokenizer.ggml.*` keys of a GGUF file and applies defaults if the file
// says nothing: ids by well-known names, BOS and EOS, the space before SentencePiece text, Phi-3's
// white space after special tokens (docs/tokenizers.md). Defaults that depend on the pre-tokenizer
// are the tokenizer's (tokenizer/tokenizer.h).
//
// Errors, naming the file, the field and the remedy: no vocabulary in the file (kFile); a kind that
// this program does not know (kUnsupported); fields that contradict each other (kFile).
#pragma once

#include "formats/model_source.h"

namespace hearth {

bool gguf_has_vocabulary(const ModelSource& source);
Vocab gguf_vocabulary(const ModelSource& source);

}  // namespace hearth
