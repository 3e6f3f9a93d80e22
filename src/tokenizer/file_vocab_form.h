// Converts a folder's vocabulary to the form that GGUF files have: without rules of tokenizer.json,
// with a token for every row of the model's embeddings. This is the first half of what
// file_vocabulary.h does, where the conversions are listed. Throws the same errors.
#pragma once

#include <cstdint>

#include "formats/model_source.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Returns the converted vocabulary of `folder`, whose tokenizer is given. `rows` is the number of
// rows of the model's embedding table.
Vocab file_vocab_form(const ModelSource& folder, const Tokenizer& tokenizer, uint32_t rows);

}  // namespace hearth
