// Models in a folder, by their files alone.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct FoundFile {
  std::string name, path;
};

// GGUF files (of several parts, the first) and folders with safetensors files, in the folder and
// four below, by name; at most 10,000 entries are looked at. Throws (kFile) where there is no such
// folder.
std::vector<FoundFile> find_model_files(const std::string& folder);

// Changes where the file at the path does, one of its parts, or a file in that folder.
std::string file_stamp(const std::string& path);

}  // namespace hearth
