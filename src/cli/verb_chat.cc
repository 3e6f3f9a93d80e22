// hearth chat: a conversation at a terminal.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/chat_model.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/sampling_options.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

// Throws if options for a server elsewhere were given without such a server.
void check_chat(const ChatArgs& args) {
  if (!names_server(args.serve.model) && (args.server_model || args.serve.key_file)) {
    fail(ErrorCode::kUsage,
         "--model and --api-key-file work only with a server: give its URL, such as "
         "http://127.0.0.1:8080, in place of MODEL");
  }
}

}  // namespace

void add_chat(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("chat", "Talk with a model, here or on a server");
  auto args = std::make_shared<ChatArgs>();
  ServeArgs* serve = &args->serve;
  verb.add_option("MODEL", serve->model,
                  "A GGUF file, a folder with safetensors files, or a name (`hearth list`); or the "
                  "URL of a server of OpenAI's API; default: the demo model")
      ->type_name("MODEL|URL");
  add_offline(verb, &serve->offline);
  add_text(verb, "--system", &args->system, "TEXT", "System message");
  verb.add_flag("--no-history", args->no_history, "Do not read or save the history of typed lines");
  add_text(verb, "--model", &args->server_model, "NAME",
           "With a URL: which of its models; default: the first");
  add_text(verb, "--api-key-file", &serve->key_file, "FILE",
           "With a URL: send the key in FILE's first line");
  add_text(verb, "--chat-template", &serve->template_path, "FILE",
           "Chat template (Jinja) instead of the model's own");
  serve->sampling = openai_sampling();
  serve->take_sampling = add_sampling_options(verb, &serve->sampling);
  add_engine_options(verb, &serve->engine,
                     "Context length of the conversation in tokens; default: the model's own, or "
                     "what fits into memory");
  add_state_cache(verb, &serve->engine.state_bytes);
  add_pre(verb, &serve->pre);
  add_examples(verb,
               "  hearth chat\n"
               "  hearth chat model.gguf --system 'Be brief.'\n"
               "  hearth chat http://127.0.0.1:8080\n"
               "  echo 'Why is the sky blue?' | hearth chat model.gguf");
  verb.callback([args, &action] {
    action = [args] {
      check_chat(*args);
      return chat_with(*args);
    };
  });
}

}  // namespace hearth
