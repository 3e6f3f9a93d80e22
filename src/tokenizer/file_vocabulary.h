// A folder's vocabulary as the keys `tokenizer.ggml.*` that a GGUF file has it in, for this program
// and llama.cpp alike:
//   byte-level BPE          gpt2: tokens, merges, the name of a pre-tokenizer (cut_name.h)
//   BPE with byte tokens    llama: scores made of its merges (merge_scores.h)
//   WordPiece, Unigram      bert, t5: as they are
// Ids stay as they are; those that no token has, up to the rows of the embeddings, become unused
// tokens "[PAD<id>]". A folder without a vocabulary has the kind no_vocab.
//
// What was made is read again, and must give the folder's ids, and the text of these, for all of
// hard_texts() and for texts with user-defined tokens.
//
// Errors: those of reading the folder's vocabulary, and kUnsupported, with the remedy, where a GGUF
// file cannot say how text becomes tokens.
#pragma once

#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_source.h"

namespace hearth {

struct FileVocabulary {
  GgufWriter keys;
  std::vector<std::string> notes;  // sentences on what the file does not say
};

FileVocabulary file_vocabulary(const ModelSource& folder);

}  // namespace hearth
