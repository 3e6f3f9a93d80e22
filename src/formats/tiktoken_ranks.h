// Reads tiktoken.model: a line for each token of byte-level BPE, its bytes in base64, a space, and
// its rank, which is its id. Two neighbours merge where their bytes together are a token, the
// lowest rank first. Special tokens stand elsewhere.
//
// Errors (kFile) name the file and the line: no base64, no rank, a rank or bytes that stand twice,
// a rank beyond the vocabulary; ranks that leave holes; a byte without a token.
#pragma once

#include <cstdint>

#include "formats/mapped_file.h"
#include "formats/vocab.h"

namespace hearth {

// Sets tokens, types and merges of `vocab`. Every rank is below `most_tokens`.
void read_tiktoken_ranks(const MappedFile& file, uint32_t most_tokens, Vocab* vocab);

}  // namespace hearth
