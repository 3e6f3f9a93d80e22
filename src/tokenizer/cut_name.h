// Finds the name of a pre-tokenizer (tokenizer/pre_tokenizer.h) by which a GGUF file can state how
// a tokenizer.json splits text for byte-level BPE. It tries the named ones that llama.cpp knows,
// too, and takes the first that splits all of hard_texts() into the same pieces, normalises to NFC
// where the tokenizer.json does, and takes whole pieces for tokens where it does, or where that
// makes no difference since merges lead to every token.
#pragma once

#include <string>

#include "formats/vocab.h"

namespace hearth {

// Returns the name; `vocab` has rules. Throws (kUnsupported), with a text that no named one splits
// alike, where there is none.
std::string cut_name(const Vocab& vocab);

}  // namespace hearth
