// Lists the models on this machine that other programs or `hearth pull` stored: in Hugging Face's
// cache, ollama's store and LM Studio's folders. This program uses them in place, without copying
// them.
//
// A name is ORG/REPO:LABEL, or ollama's NAME:TAG. A broken model (a manifest that is no JSON, a
// missing blob, a dangling link) is listed with a sentence in `problem`, and cannot be run. Errors
// (kUsage): a name that means several models, with a list of them; (kFile) a broken model.
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
  std::string path = {};         // the path to open
  std::string type = {};         // the model's label
  uint64_t bytes = 0;
  std::string problem = {};
  std::string commit = {};              // in the cache: the snapshot's
  std::vector<std::string> files = {};  // in the cache: paths in the snapshot
};

// Lists the models by store and name. If a store has a name twice, the newer snapshot counts.
std::vector<LocalModel> find_local_models(const StorePlaces& places);

// Returns the model with that name: the whole name, or one without organisation, label or "-GGUF",
// in any case. If two stores have the model, returns that of the first store. Returns nothing if no
// store has it.
std::optional<LocalModel> find_local_model(const std::vector<LocalModel>& models,
                                           std::string_view name);

// Returns all names that people may use for a model, its own included: without organisation, label
// or "-GGUF", and with "hf.co/" before, as ollama's clients write names of a hub. They keep the
// name's case.
std::vector<std::string> short_names(const std::string& name);

// OllamaLayer: a layer of an ollama manifest. Errors (kFile): a text that is no manifest, or one
// without a GGUF model.
struct OllamaLayer {
  std::string digest;  // 64 hexadecimal digits
  uint64_t size = 0;
};
OllamaLayer read_ollama_manifest(std::string_view json);

// Lists a snapshot's files by their paths in it, without links that lead nowhere.
std::vector<RepoFile> snapshot_files(const std::string& folder);

// Removes a model from the cache: its links in all snapshots with the same weights, then the blobs
// that no snapshot links to. Returns the bytes freed. Errors (kFile); (kResource) another process
// is fetching a model of the repository.
uint64_t remove_from_cache(const StorePlaces& places, const LocalModel& model);

}  // namespace hearth
