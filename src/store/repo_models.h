// Finds the models in the files of a repository or folder: GGUF files of one part or several
// (-00001-of-00003), each with a label, and a folder of safetensors files. Files that are no models
// by their names (mmproj*, imatrix, .partNofM) are skipped. Also chooses a model where the user
// names none. Errors: (kFile) no model, or none with that label, with a list of the labels that
// there are.
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
  // The quantisation ("Q4_K_M"). If the file's name has none, or another file has the same one, the
  // file's stem. If another file has that stem, the path. Unique in its repository.
  std::string label;
  std::vector<RepoFile> files;  // the first opens the model; config.json for a folder
  uint64_t bytes = 0;
  bool folder = false;
};

// GgufName: the parts of a GGUF file's name: "a/m-Q8_0-00002-of-00003.gguf" is part 2 of 3 of the
// stem "a/m-Q8_0".
struct GgufName {
  std::string_view stem;
  uint64_t part = 1, parts = 1;
};
GgufName gguf_name(std::string_view path);
// Whether a path ends in .gguf and is no projector, importance matrix or hidden file.
bool is_model_name(std::string_view path);

// Returns the quantisation in a name: "Q4_K_M" for "Qwen3-4B-Q4_K_M.gguf", "UD-Q2_K_XL"; empty
// where there is none.
std::string quant_of(std::string_view path);

// Returns the models sorted by label, without models that lack a part.
std::vector<RepoModel> find_repo_models(std::span<const RepoFile> files);

// Returns the models that the name may mean, the best first: if it names a quantisation, that one;
// else Q4_K_M and smaller types of at most `room` bytes, and then the smallest file.
std::vector<const RepoModel*> repo_choices(std::span<const RepoModel> models, const HubName& name,
                                           uint64_t room);

}  // namespace hearth
