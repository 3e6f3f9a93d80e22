// Finds the models that the files of a repository (or of a folder) make: GGUF files, in one part or
// several (-00001-of-00003), each with a label, and a folder of safetensors files. Files that are
// no model by their names (mmproj*, imatrix, .partNofM) are left out. Chooses the model that is
// taken where nobody says. Errors: (kFile) no model, or none of that label, with those that there
// are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/hub_name.h"

namespace hearth {

struct RepoFile {
  std::string path;
  uint64_t size = 0;
  std::string sha256 = {};  // of large files; empty: unknown
  std::string git_sha1 = {};

  bool is_large() const { return !sha256.empty(); }
  const std::string& digest() const { return is_large() ? sha256 : git_sha1; }
};

struct RepoModel {
  // "Q4_K_M"; of a file without a type in its name, or with that of another file, its stem; where
  // that is another's too, its path. No two of a repository have the same.
  std::string label;
  std::vector<RepoFile> files;  // the first one is what opens the model, config.json of a folder
  uint64_t bytes = 0;
  bool folder = false;
};

// The name of a GGUF file, from its path: "a/m-Q8_0" of "a/m-Q8_0-00002-of-00003.gguf", the second
// part of three.
struct GgufName {
  std::string_view stem;
  uint64_t part = 1, parts = 1;
};
GgufName gguf_name(std::string_view path);
// Whether it ends as GGUF files do, and is no projector, importance matrix or hidden file.
bool is_model_name(std::string_view path);

// "Q4_K_M" of "Qwen3-4B-Q4_K_M.gguf", "UD-Q2_K_XL"; empty where the name has none.
std::string quant_of(std::string_view path);

// Returns the models in the order of their labels, without those of which a part is missing.
std::vector<RepoModel> find_repo_models(std::span<const RepoFile> files);

// The models that the name may mean, the best first: the one that it names; without a quantisation
// Q4_K_M and the smaller types, of which the file is at most `room` bytes, then the smallest file.
std::vector<const RepoModel*> repo_choices(std::span<const RepoModel> models, const HubName& name,
                                           uint64_t room);

}  // namespace hearth
