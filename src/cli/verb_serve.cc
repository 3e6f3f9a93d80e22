// hearth serve: the OpenAI-compatible server. The build gives HEARTH_VERSION.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/error.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/sampling_options.h"
#include "cli/serve_options.h"
#include "cli/termination.h"
#include "cli/text_io.h"
#include "cli/verbs.h"
#include "server/app.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

// The reactor's thread, which ends with the object whatever happens.
class Reactor {
 public:
  explicit Reactor(App& app) : app_(app), thread_([&app] { app.run(); }) {}
  ~Reactor() {
    app_.stop();
    join();
  }
  // Waits for run() to return.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  App& app_;
  std::thread thread_;
};

// A context below this serves nobody: it is better to say that memory is short.
constexpr uint32_t kLeastContext = 256;

std::string name_of(const ServeArgs& args, const ModelSource& source) {
  if (args.alias) return *args.alias;
  return std::filesystem::path(source.name()).stem().string();
}

int64_t file_time(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? int64_t{facts.st_mtime} : 0;
}

std::string address_text(const std::string& host, uint16_t port) {
  bool bare_v6 = host.find(':') != std::string::npos && host[0] != '[';
  return fmt::format("http://{}:{}/", bare_v6 ? "[" + host + "]" : host, port);
}

EngineOptions engine_options(const ServeArgs& args) {
  EngineOptions options;
  options.context = args.engine.context;
  options.least_context = kLeastContext;
  options.kv_share = kServingKvShare;
  options.sequences = options.outputs = args.app.completions.max_running;
  return options;
}

int serve(const ServeArgs& args) {
  // A client that leaves must not end the server.
  std::signal(SIGPIPE, SIG_IGN);
  AppOptions options = settle_app(args);
  OpenedModel model = open_named_model(args.model, args.pre, args.engine.verbose,
                                       TokenizerUse::kNeeded, ModelUse::kText);
  ConsoleListener console(args.engine.verbose);
  SamplingParams sampling = file_sampling(model.source.metadata(), openai_sampling(), console);
  args.take_sampling(&sampling);
  check_sampling(sampling, model.spec.hyper.vocabulary);
  std::optional<std::string> template_text;
  if (args.template_path) template_text = read_text(*args.template_path);
  ChatPrompt chat(model.source, *model.tokenizer, template_text);

  App app(options);
  Reactor reactor(app);
  std::string address = address_text(options.http.host, app.port());
  fmt::print(stderr, "hearth: listening at {}\n", address);
  if (app.connection_limit() < options.http.connections) {
    print_note(
        fmt::format("the limit on open files leaves {} connections; raise it (ulimit -n) for "
                    "more",
                    app.connection_limit()));
  }
  std::unique_ptr<Service> service =
      load_service(model, args.engine, engine_options(args), nullptr, service_options(args));
  const Engine& engine = service->engine();
  fmt::print(stderr, "hearth: {} ({}); the model was made for {}\n", context_text(engine),
             bytes_text(engine.memory().kv), model.spec.hyper.context);
  if (!chat.has_template()) {
    print_note("the model has no chat template: /v1/chat/completions needs --chat-template FILE");
  }

  ServiceBackend backend(*service, *model.tokenizer);
  std::string name = name_of(args, model.source);
  std::string others[] = {HEARTH_VERSION, args.pre.value_or(""), template_text.value_or("")};
  ServedModel served{name,
                     file_time(model.source.name()),
                     make_fingerprint(model.source, engine, sampling, others),
                     plan_json(name, engine, Machine::live()),
                     backend,
                     chat,
                     sampling};
  app.pin(engine.spare_pus());
  Termination termination;
  app.serve(served);
  fmt::print(stderr, "hearth: serving {} at {}\n", name, address);
  termination.wait();
  fmt::print(stderr, "hearth: ending; requests under way have {} s, a second signal ends at once\n",
             options.drain_seconds);
  app.drain();
  reactor.join();
  return 0;
}

}  // namespace

void add_serve(CLI::App& program, Action& action) {
  CLI::App& verb =
      *program.add_subcommand("serve", "Serve a model over HTTP, as OpenAI's API does");
  auto args = std::make_shared<ServeArgs>();
  add_serve_options(verb, args.get());
  add_examples(verb,
               "  hearth serve\n"
               "  hearth serve model.gguf --port 9000 --alias my-model\n"
               "  hearth serve model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
               "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: "
               "application/json' \\\n"
               "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'");
  verb.callback([args, &action] { action = [args] { return serve(*args); }; });
}

}  // namespace hearth
