// The models on this machine that other programs or `hearth pull` put there: Hugging Face's cache,
// ollama's store, LM Studio's folders. Nothing is copied, and nothing is written.
//
// A name is ORG/REPO:LABEL, or ollama's NAME:TAG. What is broken (a manifest that is no JSON, a
// blob or a link that leads nowhere) is a model with a sentence in `problem`, which runs nowhere.
// Errors (kUsage): a name that means several models, with all of them; (kFile) a broken one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/places.h"
#include "store/repo_models.h"

namespace hearth {

inline constexpr const char* kCacheStore = "cache";

struct LocalModel {
  std::string name, store = {};  // "ORG/REPO:Q4_K_M"; kCacheStore, "ollama" or "lm-studio"
  std::string path = {};         // what opens it
  std::string type = {};         // the label
  uint64_t bytes = 0;
  std::string problem = {};
  std::string commit = {};              // of the cache's: the snapshot
  std::vector<std::string> files = {};  // of the cache's: in the snapshot
};

// Lists the models by store and name; of a name that stands twice in a store the newer snapshot
// counts.
std::vector<LocalModel> find_local_models(const StorePlaces& places);

// The model of that name: the whole name, or one without its organisation, label or "-GGUF",
// whatever the case; of one in two stores, that of the first. None where there is none.
std::optional<LocalModel> find_local_model(const std::vector<LocalModel>& models,
                                           std::string_view name);

// Returns the other names that people may use for a model: its name without the organisation, the
// label or "-GGUF", and behind "hf.co/", where clients of ollama look for those of a hub. They have
// the case of the name, which is among them.
std::vector<std::string> short_names(const std::string& name);

// The layers of an ollama manifest. Errors (kFile): no manifest; one without a GGUF model.
struct OllamaLayer {
  std::string digest;  // 64 hexadecimal digits
  uint64_t size = 0;
};
OllamaLayer read_ollama_manifest(std::string_view json);

// Files of a snapshot that are there, by their paths in it; links that lead nowhere are left out.
std::vector<RepoFile> snapshot_files(const std::string& folder);

// Removes a model of the cache: its links, in all snapshots that have the same weights, then blobs
// that no snapshot names. Returns the bytes that are free now. Errors (kFile); (kResource) another
// process fetches a model of the repository.
uint64_t remove_from_cache(const StorePlaces& places, const LocalModel& model);

}  // namespace hearth
