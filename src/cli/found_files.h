// Models in a folder, by their files alone.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct FoundFile {
  std::string name, path;
};

// Finds the models in the folder and in four levels below it (store/repo_models.h), by name: GGUF
// files, by their stems, of several parts the first, and folders of safetensors files, by the
// folder's name, in which nothing else is looked for. At most 10,000 entries are looked at. Throws
// (kFile) where there is no such folder.
std::vector<FoundFile> find_model_files(const std::string& folder);

// Changes where the file at the path does, one of its parts, or a file in that folder. Empty:
// that, or a part of it, is not there.
std::string file_stamp(const std::string& path);

}  // namespace hearth
