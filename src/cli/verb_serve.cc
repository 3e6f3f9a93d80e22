// hearth serve: the OpenAI-compatible server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/tell.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/serve_embeddings.h"
#include "cli/serve_options.h"
#include "cli/serve_text.h"
#include "cli/termination.h"
#include "cli/text_io.h"
#include "server/app.h"

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

std::string name_of(const std::optional<std::string>& alias, const ModelSource& source) {
  return alias ? *alias : std::filesystem::path(source.name()).stem().string();
}

std::string address_text(const std::string& host, uint16_t port) {
  bool bare_v6 = host.find(':') != std::string::npos && host[0] != '[';
  return fmt::format("http://{}:{}/", bare_v6 ? "[" + host + "]" : host, port);
}

void tell_listening(const App& app, const HttpOptions& http) {
  tell("hearth: listening at {}\n", address_text(http.host, app.port()));
  if (app.connection_limit() < http.connections) {
    print_note(
        fmt::format("the limit on open files leaves {} connections; raise it (ulimit -n) for "
                    "more",
                    app.connection_limit()));
  }
}

// What the options and the files name, before anything is loaded.
struct ToServe {
  std::optional<ServedText> text;
  std::optional<ServedEmbeddings> embeddings;
  std::string text_name, embeddings_name;

  // As it is told at the start.
  std::string names() const {
    if (!text) return embeddings_name;
    return embeddings ? text_name + " and " + embeddings_name : text_name;
  }
};

void open_models(const ServeArgs& args, const Machine& machine, ToServe* all) {
  OpenedModel model = open_named_model(args.model, args.pre, args.engine);
  std::string name = name_of(args.alias, model.source);
  if (!args.embed && embeds(model.spec)) {
    all->embeddings_name = name;
    all->embeddings.emplace(args, machine, std::move(model), true);
    return;
  }
  all->text_name = name;
  all->text.emplace(args, machine, std::move(model));
  if (!args.embed) return refuse_embedding_options(args);
  EngineArgs engine = args.engine;
  engine.importance.reset();  // it is the other model's
  OpenedModel second = open_named_model(*args.embed, {}, engine);
  all->embeddings_name = name_of({}, second.source);
  if (all->embeddings_name == name) all->embeddings_name += "-embed";
  all->embeddings.emplace(args, machine, std::move(second), false);
}

// The pools first: the engine for text takes what they leave.
void load_models(ToServe* all) {
  std::vector<uint32_t> taken;
  if (all->embeddings) {
    all->embeddings->load(all->embeddings_name);
    taken = all->embeddings->pus();
  }
  if (all->text) all->text->load(all->text_name, taken);
}

// Where nobody computes; empty where no core is left.
std::vector<uint32_t> spare_pus(const Machine& machine, const ToServe& all) {
  std::vector<uint32_t> pools;
  if (all.embeddings) pools = all.embeddings->pus();
  std::vector<uint32_t> beside = pus_beside(machine, pools);
  if (!all.text) return beside;
  std::vector<uint32_t> spare;
  for (uint32_t pu : all.text->spare_pus()) {
    if (std::ranges::find(beside, pu) != beside.end()) spare.push_back(pu);
  }
  return spare;
}

int list_devices(ToServe* all) {
  all->embeddings->load(all->embeddings_name);
  write_stdout(device_table(all->embeddings->reports()));
  return 0;
}

int serve(const ServeArgs& args) {
  // A client that leaves must not end the server.
  std::signal(SIGPIPE, SIG_IGN);
  AppOptions options = settle_app(args);
  const Machine machine = Machine::live();
  ToServe models;
  open_models(args, machine, &models);
  if (args.embedding.devices.list) return list_devices(&models);
  options.text = models.text.has_value();
  options.embeddings = models.embeddings.has_value();

  App app(options);
  // Its queues tell the App of what they hold, whatever ends the reactor.
  auto end_queues = [](ToServe* all) { all->embeddings.reset(); };
  std::unique_ptr<ToServe, decltype(end_queues)> queues(&models, end_queues);
  {
    Reactor reactor(app);
    tell_listening(app, options.http);
    load_models(&models);
    app.pin(spare_pus(machine, models));
    Termination termination;
    app.serve(models.text ? &models.text->served() : nullptr,
              models.embeddings ? &models.embeddings->served() : nullptr);
    tell("hearth: serving {} at {}\n", models.names(), address_text(options.http.host, app.port()));
    termination.wait();
    app.drain();
    tell("hearth: ending; requests under way have {} s, a second signal ends at once\n",
         options.drain_seconds);
    reactor.join();
    // What holds up a request's work must not hold up the end; nothing is left to write.
    if (!app.settled()) std::_Exit(0);
  }
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
               "  hearth serve model.gguf --embed bge-small.gguf\n"
               "  hearth serve bge-large.gguf --slo 1s\n"
               "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: "
               "application/json' \\\n"
               "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'");
  verb.callback([args, &action] { action = [args] { return serve(*args); }; });
}

}  // namespace hearth
