// Gets a model of a hub into the cache: revision, list of files, which of them, whether they would
// run here (before they are fetched), whether the disk has room, then the files, their links and
// the revision's name. What is there already is not asked for again: then one request tells that
// it is the newest.
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
  bool anyway = false;  // fetched although it does not run here
};

// Callbacks while a model is fetched, from the thread that called.
struct PullListener {
  std::function<void(const std::string& sentence)> note = [](const std::string&) {};
  // Called before the first byte: with what is fetched, and how much of it is missing.
  std::function<void(const RepoModel& model, uint64_t missing)> begin = [](const RepoModel&,
                                                                           uint64_t) {};
  // Several times a second.
  std::function<void(const std::string& file, uint64_t done, uint64_t total)> progress =
      [](const std::string&, uint64_t, uint64_t) {};
};

struct PulledModel {
  std::string name, commit;  // "ORG/REPO:Q4_K_M"
  std::string path;          // what opens it
  RepoModel model;
  uint64_t fetched = 0;  // bytes that were missing
  bool whole = false;    // false: it was stopped, and goes on when it is asked for again
};

PulledModel pull_model(const StorePlaces& places, const HubName& name, const PullOptions& options,
                       const std::atomic<bool>& stop, const PullListener& listener);

// The models of a repository, for people who choose.
struct ListedRepo {
  std::string commit;
  std::vector<RepoModel> models;
};
ListedRepo list_repo(const StorePlaces& places, const HubName& name, const HubOptions& options,
                     const std::atomic<bool>& stop);

// Gives `use` what the header of one of them says, without the rest of its file. False where it has
// several parts or is no GGUF file.
bool use_shape(const StorePlaces& places, const HubName& name, const std::string& commit,
               const RepoModel& model, const HubOptions& options, const std::atomic<bool>& stop,
               const std::function<void(const ModelSpec&)>& use);

}  // namespace hearth
