// Reads the files of sentence-transformers that stand beside a model and tell how vectors are made:
// modules.json lists steps, the second of which pools; the config.json of that step says how, and
// sentence_bert_config.json how many tokens of a text are read.
//
// Errors: a step that this program does not do, as a further matrix (kUnsupported), a file that is
// not what its name says (kFile).
#pragma once

#include <string>
#include <vector>

#include "formats/hf_config.h"
#include "formats/mapped_file.h"

namespace hearth {

inline constexpr std::string_view kHfModules = "modules.json";
inline constexpr std::string_view kHfLengths = "sentence_bert_config.json";

// The folder, in the model's, of the step that pools: "1_Pooling". Empty where there is none.
std::string hf_pooling_folder(const MappedFile& modules);

// `file` is the pooling step's config.json.
void read_hf_pooling(const MappedFile& file, HfConfig* model);

// Takes off an encoder's context what the file says is not read.
void read_hf_lengths(const MappedFile& file, HfConfig* model);

}  // namespace hearth
