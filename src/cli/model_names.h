// Finds MODEL of the command line: a path, the name of a model in a store of this machine
// (store/local_models.h), or one on a hub, which `run`, `chat` and `serve` fetch before they load
// it. A name is tried as each of these, in that order.
//
// Errors: (kUsage) an ambiguous name; (kFile) a broken model, one that is neither here nor may be
// fetched; those of store/pull.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "store/local_models.h"

namespace hearth {

struct PullListener;

struct NamedModel {
  std::string path;  // the typed text where no model has that name
  std::string name;  // its name in a store; empty: it is a path
};

// The models in the stores, which are listed once, when the first name is looked up.
class StoredModels {
 public:
  const std::vector<LocalModel>& all() {
    if (!all_) all_ = find_local_models(find_places());
    return *all_;
  }
  // Drops the list, since the models have changed.
  void forget() { all_.reset(); }

 private:
  std::optional<std::vector<LocalModel>> all_;
};

// Finds a model on this machine.
NamedModel find_named_model(const std::string& typed, StoredModels* stored);
NamedModel find_named_model(const std::string& typed);
// Finds a model, and fetches one from a hub unless `offline`; prints its size first. Ctrl-C during
// the fetch ends the process, and the parts fetched so far are kept.
NamedModel fetch_named_model(const std::string& typed, bool offline, StoredModels* stored);
NamedModel fetch_named_model(const std::string& typed, bool offline);

// Makes the option's value the path of the named model on this machine.
void take_model_name(CLI::Option* option);

// Adds --offline, for verbs that fetch.
void add_offline(CLI::App& verb, bool* offline);

// Returns a listener that shows a fetch: a progress line for each file on a terminal, else a line
// every ten seconds. With `json` it prints JSON objects on standard output instead.
PullListener pull_listener(const std::string& name, bool json);

}  // namespace hearth
