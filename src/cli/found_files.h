// Finds models in a folder by nothing but their files.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct FoundFile {
  std::string name, path;
};

// Finds the models in the folder and four levels below it (store/repo_models.h), sorted by name. A
// GGUF file (of several parts, the first) is named by its stem. A folder of safetensors files is a
// model by the folder's name; folders below it are not searched. Looks at no more than 10,000
// entries. Throws (kFile) where the folder does not exist.
std::vector<FoundFile> find_model_files(const std::string& folder);

// Returns a text that changes when the file at `path`, one of its parts, or a file in the folder
// `path` changes. The text is empty if `path` does not exist.
std::string file_stamp(const std::string& path);

}  // namespace hearth
