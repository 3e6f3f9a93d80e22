// Reads tokenizer.json, as Hugging Face's tokenizers write it: a BPE, WordPiece or Unigram model,
// the steps around it (formats/tokenizer_steps.h) and added tokens. docs/tokenizers.md says what is
// read.
//
// Errors: kFile, naming the file and the key, for a file that is not a valid tokenizer: other types
// than are needed, ids beyond the vocabulary or of two tokens, merges that name no token.
// kUnsupported for another model, and for settings that would change ids and that this program does
// not support; the error names them.
#pragma once

#include <cstdint>

#include "formats/mapped_file.h"
#include "formats/vocab.h"

namespace hearth {

// Sets all of `vocab` that the file states; ids such as BOS, and those that end a generation, stand
// in other files. Every id must be below `max_tokens`, the rows of the model's embeddings.
void read_tokenizer_json(const MappedFile& file, uint32_t max_tokens, Vocab* vocab);

}  // namespace hearth
