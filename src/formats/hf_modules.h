// Reads the files of sentence-transformers that stand beside a model and describe how text becomes
// a vector: modules.json lists steps, the second of which pools; the config.json of that step names
// the pooling, and sentence_bert_config.json the most tokens that are read of a text.
//
// Errors: a step that this program does not do, such as a dense layer (kUnsupported), a file with
// other contents than its name says (kFile).
#pragma once

#include <string>
#include <vector>

#include "formats/hf_config.h"
#include "formats/mapped_file.h"

namespace hearth {

inline constexpr std::string_view kHfModules = "modules.json";
inline constexpr std::string_view kHfLengths = "sentence_bert_config.json";

// Returns the pooling step's folder inside the model's: "1_Pooling". Empty if there is none.
std::string hf_pooling_folder(const MappedFile& modules);

// Sets the pooling from `file`, the pooling step's config.json.
void read_hf_pooling(const MappedFile& file, HfConfig* model);

// Lowers an encoder's context to the most tokens that `file` says are read.
void read_hf_lengths(const MappedFile& file, HfConfig* model);

}  // namespace hearth
