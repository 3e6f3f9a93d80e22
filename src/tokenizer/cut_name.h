// Finds the name of a pre-tokenizer (tokenizer/pre_tokenizer.h) by which a GGUF file can state how
// a tokenizer.json splits text for byte-level BPE. It tries pre-tokenizers that both this program
// and llama.cpp know. It takes the first that splits all of hard_texts() into the same pieces and
// normalises to NFC if the tokenizer.json does. If only one of the two makes a token of a piece
// that is one as a whole, merges must lead to every token, so that this makes no difference.
#pragma once

#include <string>

#include "formats/vocab.h"

namespace hearth {

// Returns the name; `vocab` has rules. Throws (kUnsupported) where no pre-tokenizer does the same.
// The error shows a text that is split differently.
std::string cut_name(const Vocab& vocab);

}  // namespace hearth
