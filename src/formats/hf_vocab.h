// Reads the vocabulary of a model in a folder of Hugging Face's layout: from tokenizer.json, else
// from tiktoken.model, with the special tokens that the files beside it name (docs/tokenizers.md).
//
// Errors: those of formats/tokenizer_json.h and formats/tiktoken_ranks.h; kFile for files beside
// them whose ids lie beyond the vocabulary or whose fields have other types.
#pragma once

#include "formats/model_source.h"

namespace hearth {

bool hf_has_vocabulary(const ModelSource& source);
Vocab hf_vocabulary(const ModelSource& source);

}  // namespace hearth
