// Reads tiktoken.model: a line for each token of byte-level BPE, with its bytes in base64, a space,
// and its rank, which is its id. Two neighbours merge if their joined bytes are a token; the pair
// with the lowest rank merges first. The file has no special tokens.
//
// Errors (kFile) name the file and the line: invalid base64, no rank, a rank or bytes that stand
// twice, a rank beyond the vocabulary; ranks with gaps; a byte without a token.
#pragma once

#include <cstdint>

#include "formats/mapped_file.h"
#include "formats/vocab.h"

namespace hearth {

// Sets tokens, types and merges of `vocab`. Every rank must be below `max_tokens`.
void read_tiktoken_ranks(const MappedFile& file, uint32_t max_tokens, Vocab* vocab);

}  // namespace hearth
