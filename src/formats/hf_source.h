// A model as a folder of Hugging Face's layout: config.json, weights in model.safetensors or in
// several files that model.safetensors.index.json lists, and documents such as tokenizer.json.
// docs/safetensors.md says what is read and how.
//
// Errors (kFile, kUnsupported): those of formats/safetensors.h, formats/hf_config.h and
// formats/hf_tensors.h; a folder without config.json or weights, or with weights of another kind;
// an index that names a path, or a tensor or file that is missing. Links are followed: a hub's
// cache is made of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_family.h"
#include "formats/model_source.h"

namespace hearth {

// Returns the folder of the model in this layout that `path` means: the folder itself, or that of
// one of its files (config.json, *.safetensors, the index). Empty if it is neither.
std::string hf_folder_of(const std::string& path);

// Opens a folder of one of the given families.
ModelSource open_hf_folder(const std::string& folder, HfFamilies families,
                           UnknownTypes unknown = UnknownTypes::kRefuse);

// Opens a folder whose weights may be missing, for callers that need only a model's shape: tensors
// are those that config.json calls for (formats/hf_shape.h), and their bytes are zeros.
ModelSource open_hf_shape(const std::string& folder, HfFamilies families);

// Parses files in memory or maps, which are recognised by the last part of their names.
ModelSource parse_hf_folder(std::vector<MappedFile> files, const std::string& name,
                            HfFamilies families, UnknownTypes unknown = UnknownTypes::kRefuse);

// A tensor and the file that an index says it is in.
struct IndexEntry {
  std::string tensor, file;
};
// Reads model.safetensors.index.json.
std::vector<IndexEntry> read_safetensors_index(const MappedFile& file);

}  // namespace hearth
