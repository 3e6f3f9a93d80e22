// Converts a folder's vocabulary to the keys `tokenizer.ggml.*` of a GGUF file, for both this
// program and llama.cpp:
//   byte-level BPE          gpt2: tokens, merges, the name of a pre-tokenizer (cut_name.h)
//   BPE with byte tokens    llama: scores made of its merges (merge_scores.h)
//   WordPiece, Unigram      bert, t5: unchanged
// Ids are unchanged; those without a token, up to the rows of the embeddings, become unused tokens
// "[PAD<id>]". A folder without a vocabulary gets the kind no_vocab.
//
// The result is read again and checked: it must give the folder's ids, and decode these to the same
// text, for all of hard_texts() and for texts with user-defined tokens.
//
// Errors: those of reading the folder's vocabulary, and kUnsupported, with the remedy, where a GGUF
// file cannot state how text becomes tokens.
#pragma once

#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_source.h"

namespace hearth {

struct FileVocabulary {
  GgufWriter keys;
  std::vector<std::string> notes;  // sentences about differences that the file cannot express
};

FileVocabulary file_vocabulary(const ModelSource& folder);

}  // namespace hearth
