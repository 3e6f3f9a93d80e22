// Finds the name of a pre-tokenizer (tokenizer/pre_tokenizer.h) by which a GGUF file can state how
// a tokenizer.json splits text for byte-level BPE. It tries pre-tokenizers that llama.cpp knows,
// too, and takes the first that splits all of hard_texts() into the same pieces and normalises to
// NFC if the tokenizer.json does. If only one of the two takes whole pieces for tokens, merges must
// lead to every token: then that makes no difference.
#pragma once

#include <string>

#include "formats/vocab.h"

namespace hearth {

// Returns the name; `vocab` has rules. Throws (kUnsupported) where no pre-tokenizer does the same,
// with a text that is split differently.
std::string cut_name(const Vocab& vocab);

}  // namespace hearth
