#include "cli/model_names.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/bytes_text.h"
#include "base/clock.h"
#include "base/count_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/tell.h"
#include "cli/pull_stop.h"
#include "cli/text_io.h"
#include "store/local_models.h"
#include "store/pull.h"

namespace hearth {
namespace {

constexpr double kLineSeconds = 10, kJsonSeconds = 1;

bool exists(const std::string& path) {
  std::error_code error;
  return path.empty() || std::filesystem::exists(path, error);
}

// Returns whether the user probably meant a file.
bool looks_like_file(const std::string& typed) {
  return typed.ends_with(".gguf") || typed.ends_with(".safetensors") || typed.ends_with(".json");
}

// Finds a model in the stores; empty if no store has it. `hub` is the typed text as a name on a
// hub.
NamedModel find_in_stores(const std::string& typed, const std::optional<HubName>& hub,
                          StoredModels* stored) {
  std::string name = typed;
  if (hub && hub->file.empty()) {
    name = hub->id() + (hub->quant.empty() ? "" : ":" + hub->quant);
  }
  const std::optional<LocalModel> model = find_local_model(stored->all(), name);
  if (!model) return {};
  if (!model->problem.empty()) {
    fail(ErrorCode::kFile, "'{}' in the store of {} cannot be used: {}", printable(model->name),
         model->store, model->problem);
  }
  return {.path = model->path, .name = model->name};
}

// Returns whether the name states a revision or a file. Models by such names are not looked for in
// the stores.
bool names_revision(const std::optional<HubName>& hub) {
  return hub && (hub->revision != "main" || !hub->file.empty());
}

// Prints the progress of fetching one model.
class PullPrinter {
 public:
  PullPrinter(std::string name, bool json) : name_(std::move(name)), json_(json) {}

  void begin(const RepoModel& model, uint64_t missing) const {
    if (json_) return;
    print_stderr("hearth: downloading {}:{}: {}, of which {} are missing, in {}\n", name_,
                 printable(model.label), bytes_text(model.bytes), bytes_text(missing),
                 count_text(model.files.size(), "file"));
  }

  void progress(const std::string& file, uint64_t done, uint64_t total) {
    const double now = steady_seconds();
    if (file != file_) {
      if (line_) line_->finish();
      file_ = file;
      first_ = done;
      started_ = now;
      next_ = now + (json_ ? kJsonSeconds : kLineSeconds);
      line_ = std::make_unique<Progress>(printable(file, 60), total, bytes_text);
    }
    if (json_) {
      if (now < next_ && done < total) return;
      next_ = now + kJsonSeconds;
      Json json;
      json.object().key("file").text(file).key("done").number(done).key("total").number(total);
      write_stdout(json.end_object().line());
      return;
    }
    line_->update(done);
    if (done == total) line_->finish();
    if (stderr_is_terminal() || now < next_) return;
    next_ = now + kLineSeconds;
    print_stderr("hearth: {}: {} of {}, {} a second\n", printable(file), bytes_text(done),
                 bytes_text(total),
                 bytes_text(static_cast<uint64_t>(
                     static_cast<double>(done - std::min(done, first_)) / (now - started_))));
  }

 private:
  std::string name_;
  bool json_;
  std::string file_;
  uint64_t first_ = 0;
  double started_ = 0, next_ = 0;
  std::unique_ptr<Progress> line_;
};

}  // namespace

PullListener pull_listener(const std::string& name, bool json) {
  auto printer = std::make_shared<PullPrinter>(name, json);
  return {.note = print_note,
          .begin = [printer](const RepoModel& model,
                             uint64_t missing) { printer->begin(model, missing); },
          .progress = [printer](const std::string& file, uint64_t done,
                                uint64_t total) { printer->progress(file, done, total); }};
}

NamedModel find_named_model(const std::string& typed) {
  StoredModels stored;
  return find_named_model(typed, &stored);
}

NamedModel fetch_named_model(const std::string& typed, bool offline) {
  StoredModels stored;
  return fetch_named_model(typed, offline, &stored);
}

NamedModel find_named_model(const std::string& typed, StoredModels* stored) {
  if (exists(typed)) return {.path = typed, .name = {}};
  const std::optional<HubName> hub = find_hub_name(typed);
  if (names_revision(hub)) {
    fail(ErrorCode::kFile,
         "'{}' names a revision or a file, which only `hearth pull`, `run`, `chat` and `serve` "
         "accept: pull it first and use its path",
         printable(typed));
  }
  NamedModel found = find_in_stores(typed, hub, stored);
  if (!found.path.empty()) return found;
  if (!hub || looks_like_file(typed)) return {.path = typed, .name = {}};
  fail(ErrorCode::kFile,
       "'{0}' is neither a path nor a model on this machine (see `hearth list`): check the name, "
       "or download it with `hearth pull {0}`",
       printable(typed));
}

NamedModel fetch_named_model(const std::string& typed, bool offline, StoredModels* stored) {
  if (exists(typed)) return {.path = typed, .name = {}};
  const std::optional<HubName> hub = find_hub_name(typed);
  if (!hub || (hub->file.empty() && looks_like_file(typed))) {
    return find_named_model(typed, stored);
  }
  if (!names_revision(hub)) {
    NamedModel found = find_in_stores(typed, hub, stored);
    if (!found.path.empty()) return found;
  }
  StorePlaces places = find_places();
  places.offline = places.offline || offline;
  const PulledModel pulled = pull_until_stopped(places, *hub, {}, pull_listener(hub->id(), false));
  stored->forget();
  return {.path = pulled.path, .name = pulled.name};
}

void take_model_name(CLI::Option* option) {
  option->transform(CLI::Validator(
      [](std::string& typed) {
        typed = find_named_model(typed).path;
        return std::string();
      },
      ""));
}

void add_offline(CLI::App& verb, bool* offline) {
  verb.add_flag("--offline", *offline,
                "Download nothing: MODEL must be on this machine (same as HF_HUB_OFFLINE=1)");
}

}  // namespace hearth
