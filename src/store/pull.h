// Fetches a model from a hub into the cache: it finds the revision's commit and its files, chooses
// the model, checks that it runs here and that the disk has room, then fetches the files, links
// them, and sets the revision's ref. Files that are in the cache are not fetched again; if all are,
// a single request shows that the model is the newest.
//
// Errors: those of store/hub.h, store/repo_models.h, store/header_check.h, store/blob_fetch.h;
// (kUsage) offline.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "store/blob_fetch.h"
#include "store/places.h"
#include "store/repo_models.h"

namespace hearth {

struct ModelSpec;

struct PullOptions {
  FetchOptions fetch;
  bool anyway = false;  // fetch a model that does not run here, too
};

// Callbacks while a model is fetched, on the calling thread.
struct PullListener {
  std::function<void(const std::string& sentence)> note = [](const std::string&) {};
  // Called before the first byte is fetched, with the model and how many of its bytes are missing.
  std::function<void(const RepoModel& model, uint64_t missing)> begin = [](const RepoModel&,
                                                                           uint64_t) {};
  // Called several times a second.
  std::function<void(const std::string& file, uint64_t done, uint64_t total)> progress =
      [](const std::string&, uint64_t, uint64_t) {};
};

struct PulledModel {
  std::string name, commit;  // "ORG/REPO:Q4_K_M"
  std::string path;          // the path to open
  RepoModel model;
  uint64_t fetched = 0;  // bytes fetched by this call
  bool whole = false;    // false: stopped; another call continues from there
};

PulledModel pull_model(const StorePlaces& places, const HubName& name, const PullOptions& options,
                       const std::atomic<bool>& stop, const PullListener& listener);

// ListedRepo: the models of a repository, to choose from.
struct ListedRepo {
  std::string commit;
  std::vector<RepoModel> models;
};
ListedRepo list_repo(const StorePlaces& places, const HubName& name, const HubOptions& options,
                     const std::atomic<bool>& stop);

// Calls `use` with the ModelSpec from one model's header, without fetching the rest of the file.
// Returns false where it has several parts or is no GGUF file.
bool use_shape(const StorePlaces& places, const HubName& name, const std::string& commit,
               const RepoModel& model, const HubOptions& options, const std::atomic<bool>& stop,
               const std::function<void(const ModelSpec&)>& use);

}  // namespace hearth
