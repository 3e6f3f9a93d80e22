// hearth remove: deletes a model from Hugging Face's cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "store/local_models.h"

namespace hearth {
namespace {

struct RemoveArgs {
  std::string model;
  bool json = false;
};

int remove(const RemoveArgs& args) {
  const StorePlaces places = find_places();
  const std::optional<LocalModel> model = find_local_model(find_local_models(places), args.model);
  if (!model) {
    fail(ErrorCode::kFile, "there is no model '{}' on this machine; `hearth list` lists them",
         printable(args.model));
  }
  if (model->store != kCacheStore) {
    fail(ErrorCode::kFile,
         "'{}' is in the store of {}, which hearth only reads: remove it with {}, or delete '{}'",
         printable(model->name), model->store, model->store, model->path);
  }
  const uint64_t freed = remove_from_cache(places, *model);
  if (!args.json) {
    print_note(fmt::format("removed {} and freed {}", printable(model->name), bytes_text(freed)));
    return 0;
  }
  Json json;
  json.object().key("removed").text(model->name).key("freed").number(freed).end_object();
  write_stdout(json.line());
  return 0;
}

}  // namespace

void add_remove(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("remove", "Delete a model from Hugging Face's cache");
  auto args = std::make_shared<RemoveArgs>();
  verb.add_option("MODEL", args->model, "Its name, as `hearth list` shows it")
      ->required()
      ->type_name("NAME");
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth remove unsloth/Qwen3-4B-GGUF:Q8_0\n"
               "  hearth remove Qwen3-4B --json");
  verb.callback([args, &action] { action = [args] { return remove(*args); }; });
}

}  // namespace hearth
