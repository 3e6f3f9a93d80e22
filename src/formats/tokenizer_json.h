// Reads tokenizer.json, as Hugging Face's tokenizers write it: a BPE model, the steps around it
// (formats/tokenizer_steps.h) and added tokens. docs/tokenizers.md says what is read.
//
// Errors: kFile, naming the file and the key, for what is no tokenizer: other types than are
// needed, ids beyond the vocabulary or of two tokens, merges that name no token. kUnsupported,
// naming it, for what this program does not do: another model, settings that would change ids.
#pragma once

#include <cstdint>

#include "formats/mapped_file.h"
#include "formats/vocab.h"

namespace hearth {

// Every id is below `most_tokens`, the rows of the model's embeddings. Sets of `vocab` all that the
// file says; which tokens end a generation, and names such as BOS, stand elsewhere.
void read_tokenizer_json(const MappedFile& file, uint32_t most_tokens, Vocab* vocab);

}  // namespace hearth
