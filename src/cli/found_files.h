// Finds models in a folder by their files alone.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct FoundFile {
  std::string name, path;
};

// Finds the models in the folder and four levels below it (store/repo_models.h), by name: GGUF
// files by their stems (of several parts the first), and folders of safetensors files by the
// folder's name; such folders are not searched further. Looks at no more than 10,000 entries.
// Throws (kFile) where the folder does not exist.
std::vector<FoundFile> find_model_files(const std::string& folder);

// Returns a text that changes when the file at `path`, one of its parts, or a file in that folder
// changes. Empty: it does not exist.
std::string file_stamp(const std::string& path);

}  // namespace hearth
