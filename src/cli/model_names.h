// MODEL on the command line: a path, or the name of a model in a store of this machine
// (store/local_models.h), or of one on a hub, which `run`, `chat` and `serve` fetch before they
// load it. What comes first counts, in that order.
//
// Errors: (kUsage) a name that may be several; (kFile) a broken model, one that is neither here nor
// may be fetched; those of store/pull.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "store/local_models.h"

namespace hearth {

struct PullListener;

struct NamedModel {
  std::string path;  // what was typed where nothing is known of that name
  std::string name;  // of a store; empty: it is a path
};

// The models in the stores, which are looked at once for several names, when the first needs it.
class StoredModels {
 public:
  const std::vector<LocalModel>& all() {
    if (!all_) all_ = find_local_models(find_places());
    return *all_;
  }
  // Forgets the models, which have changed.
  void forget() { all_.reset(); }

 private:
  std::optional<std::vector<LocalModel>> all_;
};

// A model that is here already.
NamedModel find_named_model(const std::string& typed, StoredModels* stored);
NamedModel find_named_model(const std::string& typed);
// The same; one that is on a hub is fetched, with its size told first, unless `offline`. Ctrl-C
// meanwhile ends the process, and what was fetched is kept.
NamedModel fetch_named_model(const std::string& typed, bool offline, StoredModels* stored);
NamedModel fetch_named_model(const std::string& typed, bool offline);

// The option's value becomes the path of a model that is here.
void take_model_name(CLI::Option* option);

// --offline, of verbs that fetch.
void add_offline(CLI::App& verb, bool* offline);

// Tells of a model that is fetched: a line a file on a terminal, else a line every ten seconds; or
// objects of JSON on standard output.
PullListener pull_listener(const std::string& name, bool json);

}  // namespace hearth
