// The name by which a GGUF file tells how a tokenizer.json cuts text for byte-level BPE, found by
// what is cut: of the pre-tokenizers that have names (tokenizer/pre_tokenizer.h), which llama.cpp
// knows, too, the first that cuts all of hard_texts() into the same pieces, brings text into NFC
// where the file does, and takes pieces for tokens where the file does or where that makes no
// difference, since merges lead to every token.
#pragma once

#include <string>

#include "formats/vocab.h"

namespace hearth {

// `vocab` has rules. Throws (kUnsupported), with a text that none cuts so, where there is none.
std::string cut_name(const Vocab& vocab);

}  // namespace hearth
