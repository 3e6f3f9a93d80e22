#include "cli/model_offers.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"
#include "cli/found_files.h"
#include "cli/held_models.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/text_io.h"
#include "engine/open_model.h"
#include "store/local_models.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// A model whose file was not read yet.
struct FoundModel {
  std::string name, path;
  const ConfiguredOptions* table = nullptr;  // its own options, or null
  bool named = false;                        // it was named on the command line
  bool cached = false;                       // it is in Hugging Face's cache
  std::vector<std::string> also = {};        // other names in stores
};

const ConfiguredOptions* find_table(const Configuration& configuration, const std::string& name) {
  auto found = configuration.find(std::string(kModelTable) + name);
  return found == configuration.end() ? nullptr : &found->second;
}

bool has_tables(const Configuration& configuration) {
  return std::ranges::any_of(configuration,
                             [](const auto& each) { return each.first.starts_with(kModelTable); });
}

// Returns whether models beyond the demo model are served.
bool serves_more(const ServeArgs& args, const Configuration& configuration) {
  return !args.models.empty() || args.all_models || has_tables(configuration);
}

// The arguments and state of one call of find_offers().
struct Finding {
  const OfferSetting& setting;
  const OfferTime time;
  StoredModels stored = {};

  NamedModel path_of(const std::string& typed) {
    if (time == OfferTime::kLater) return find_named_model(typed, &stored);
    return fetch_named_model(typed, setting.args.offline, &stored);
  }

  FoundModel of_table(const std::string& name, const ConfiguredOptions& table) {
    const auto model = table.find("model");
    const std::string typed = model == table.end() ? name : model->second.values.front();
    return {name, path_of(typed).path, &table};
  }

  FoundModel of_word(const std::string& typed) {
    const NamedModel model = path_of(typed);
    std::string name = model.name.empty() ? fs::path(model.path).stem().string() : model.name;
    if (setting.args.alias) name = *setting.args.alias;
    return {std::move(name), model.path};
  }

  // Returns the models that --models finds, each by its full name.
  std::vector<FoundModel> of_machine(const std::string& folder) {
    std::vector<FoundModel> found;
    if (!folder.empty()) {
      for (FoundFile& file : find_model_files(folder)) {
        found.push_back({std::move(file.name), std::move(file.path)});
      }
      return found;
    }
    for (const LocalModel& model : stored.all()) {
      if (!model.problem.empty()) continue;
      found.push_back({.name = model.name, .path = model.path});
      found.back().cached = model.store == kCacheStore;
    }
    return found;
  }
};

std::vector<FoundModel> find_models(const OfferSetting& setting, const Configuration& configuration,
                                    OfferTime time) {
  Finding finding{setting, time};
  std::vector<FoundModel> all;
  auto has = [&](const std::string& name) {
    return std::ranges::find(all, name, &FoundModel::name) != all.end();
  };
  for (const std::string& typed : setting.args.models) {
    const ConfiguredOptions* table = find_table(configuration, typed);
    FoundModel model = table != nullptr ? finding.of_table(typed, *table) : finding.of_word(typed);
    if (has(model.name)) {
      fail(ErrorCode::kUsage,
           "two models are named '{}': give one of them another name in a [model.NAME] table of "
           "the configuration",
           printable(model.name));
    }
    model.named = true;
    all.push_back(std::move(model));
  }
  if (!serves_more(setting.args, configuration)) {
    const std::string demo = find_demo_model().string();
    all.push_back({fs::path(demo).stem().string(), demo, nullptr, true});
  }
  if (setting.args.all_models || setting.args.models.empty()) {
    for (const auto& [key, table] : configuration) {
      if (!key.starts_with(kModelTable)) continue;
      const std::string name = key.substr(kModelTable.size());
      if (!has(name)) all.push_back(finding.of_table(name, table));
    }
  }
  if (!setting.args.all_models) return all;
  for (FoundModel& model : finding.of_machine(*setting.args.all_models)) {
    if (has(model.name)) continue;
    const auto same = std::ranges::find(all, model.path, &FoundModel::path);
    if (same == all.end()) {
      all.push_back(std::move(model));
    } else {
      same->also.push_back(std::move(model.name));  // one more name of a listed model
    }
  }
  return all;
}

// Parses the options of one model: the command line's have precedence over its table's.
std::shared_ptr<const ModelArgs> read_args(const OfferSetting& setting,
                                           const Configuration& configuration,
                                           const FoundModel& model) {
  const auto verb = configuration.find("serve");
  std::vector<std::string> words = setting.given.words;
  std::shared_ptr<ModelArgs> args;
  auto parse = [&] {
    args = std::make_shared<ModelArgs>();
    add_serve_options(args->app, &args->args);
    args->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  };
  const ConfiguredOptions none;
  for (const ConfiguredOptions* options : {model.table != nullptr ? model.table : &none,
                                           verb == configuration.end() ? &none : &verb->second}) {
    try {
      if (args == nullptr) parse();
      const std::vector<std::string> more = configured_words(args->app, *options);
      words.insert(words.begin(), more.begin(), more.end());
      parse();
    } catch (const CLI::ParseError& error) {
      const std::string source = configured_source(error.what(), *options);
      fail(ErrorCode::kUsage, "{}{}", source.empty() ? "" : source + ": ", error.what());
    }
  }
  args->args.turns = setting.turns;
  args->args.model = model.path;
  return args;
}

// Returns a text of all settings that require the model to be loaded again when they change, except
// settings that depend on other models.
std::string made_of(const FoundModel& model) {
  std::string text = model.path;
  if (model.table == nullptr) return text;
  for (const auto& [key, value] : *model.table) {
    if (key == "alias" || key == "pin" || key == "ttl") continue;
    text += fmt::format("\n{}={}", key, fmt::join(value.values, "\n"));
  }
  return text;
}

KnownHeader read_header(const FoundModel& model, const ServeArgs& args, const KnownHeaders& known) {
  std::string stamp = file_stamp(model.path);
  const auto found = known.find(made_of(model));
  if (found != known.end() && found->second.stamp == stamp) return found->second;
  const OpenedModel opened =
      open_named_model(model.path, args.pre, args.engine, TokenizerUse::kNone);
  return {std::move(stamp), kind_of(opened.spec), opened.spec.hyper.context,
          make_model_facts(opened.source)};
}

OfferedModel offer_of(const FoundModel& model, const OfferSetting& setting,
                      const std::shared_ptr<const ModelArgs>& args, const KnownHeader& header,
                      const std::shared_ptr<const bool>& queues_apart) {
  OfferedModel offer{.name = model.name,
                     .kind = header.kind,
                     .named = model.named,
                     .pinned = args->args.pin,
                     .removable = model.cached,
                     .created = file_time(model.path),
                     .context = header.context,
                     .facts = header.facts,
                     .made_of = made_of(model)};
  offer.aliases = model.also;
  if (model.table != nullptr && args->args.alias) offer.aliases.push_back(*args->args.alias);
  if (args->args.ttl_seconds) offer.ttl_seconds = *args->args.ttl_seconds;
  offer.stamp = [path = model.path] { return file_stamp(path); };
  const ToHold to_hold{model.name, args, &setting.machine, setting.others, queues_apart};
  offer.open = [to_hold, kind = offer.kind, bytes = offer.facts.file_bytes] {
    return open_held_model(to_hold, kind, bytes);
  };
  return offer;
}

// Adds to each model those of its short names that no other model has.
void add_short_names(std::vector<OfferedModel>* offers) {
  std::map<std::string, int> times;
  for (const OfferedModel& offer : *offers) {
    std::vector<std::string> names = short_names(offer.name);
    for (std::string& name : names) name = ascii_lower(name);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string& name : names) ++times[name];
  }
  for (OfferedModel& offer : *offers) {
    for (std::string& name : short_names(offer.name)) {
      if (name != offer.name && times[ascii_lower(name)] == 1) {
        offer.aliases.push_back(std::move(name));
      }
    }
  }
}

}  // namespace

bool serves_set(const ServeArgs& args, const Configuration& configuration) {
  if (args.models.size() > 1 || args.all_models || args.memory != 0 || args.ttl_seconds ||
      args.pin) {
    return true;
  }
  if (args.models.empty()) return has_tables(configuration);
  return find_table(configuration, args.models.front()) != nullptr;
}

std::vector<OfferedModel> find_offers(const OfferSetting& setting,
                                      const Configuration& configuration, OfferTime time,
                                      KnownHeaders* known) {
  std::vector<OfferedModel> offers;
  KnownHeaders headers;
  // True where a model that embeds or ranks is named on the command line or in a table: only then
  // are cores reserved for such models.
  const auto queues_apart = std::make_shared<bool>(setting.queues_apart);
  for (const FoundModel& model : find_models(setting, configuration, time)) {
    try {
      const std::shared_ptr<const ModelArgs> args = read_args(setting, configuration, model);
      const KnownHeader& header = headers[made_of(model)] = read_header(model, args->args, *known);
      offers.push_back(offer_of(model, setting, args, header, queues_apart));
      const bool asked = model.named || model.table != nullptr;
      if (asked && offers.back().kind != ModelKind::kText) *queues_apart = true;
    } catch (const Error& error) {
      if (model.named || model.table != nullptr) throw;
      print_note(fmt::format("'{}' is not served: {}", printable(model.name), error.what()));
    }
  }
  if (offers.empty() && !setting.args.allow_pull) {
    fail(ErrorCode::kUsage, "no model to serve: name one, or download one with `hearth pull`");
  }
  for (OfferedModel& offer : offers) {
    if (*queues_apart) offer.made_of += "\nbeside queues";
  }
  add_short_names(&offers);
  *known = std::move(headers);
  return offers;
}

}  // namespace hearth
