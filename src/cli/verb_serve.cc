// hearth serve: serves models by an OpenAI-compatible API.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/tell.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/model_offers.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/serve_embeddings.h"
#include "cli/serve_options.h"
#include "cli/serve_text.h"
#include "cli/served_stock.h"
#include "cli/termination.h"
#include "cli/text_io.h"
#include "server/app.h"
#include "server/model_set.h"
#include "store/header_check.h"

namespace hearth {
namespace {

// The reactor's thread, which is stopped and joined by the destructor.
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

void print_listening(const App& app, const HttpOptions& http) {
  print_stderr("hearth: listening at {}\n", address_text(http.host, app.port()));
  for (size_t i = 0; i < http.others.size(); ++i) {
    print_stderr("hearth: listening at {} for clients of ollama\n",
                 address_text(http.others[i].host, app.port(i + 1)));
  }
  if (app.connection_limit() < http.connections) {
    print_note(
        fmt::format("the limit on open files allows {} connections; for more, raise it (ulimit -n)",
                    app.connection_limit()));
  }
}

// The models that options and files name, before they are loaded.
struct ToServe {
  std::optional<ServedText> text;
  std::optional<ServedEmbeddings> embeddings, reranker;
  std::string text_name, embeddings_name, reranker_name;

  // Returns the names for the line printed at the start.
  std::string names() const {
    std::string all;
    for (const std::string* name : {&text_name, &embeddings_name, &reranker_name}) {
      if (!name->empty()) all += (all.empty() ? "" : " and ") + *name;
    }
    return all;
  }
  // Returns the PUs on which the embedding models' pools compute.
  std::vector<uint32_t> pool_pus() const {
    std::vector<uint32_t> all;
    for (const std::optional<ServedEmbeddings>* model : {&embeddings, &reranker}) {
      if (!*model) continue;
      const std::vector<uint32_t>& pus = (*model)->pus();
      all.insert(all.end(), pus.begin(), pus.end());
    }
    return all;
  }
};

// Two models for embeddings compute on 1 / kShareOfTwo of the cores each if there is no text model.
constexpr uint32_t kShareOfTwo = 2;
// The most names that a line lists.
constexpr size_t kMaxNames = 8;

// Opens a model that is served beside the first one.
OpenedModel open_beside(const ServeArgs& args, const std::string& file) {
  EngineArgs engine = args.engine;
  engine.importance.reset();  // the matrix is the first model's
  return open_named_model(find_named_model(file).path, {}, engine);
}

// Returns the file's own name, and appends `end` until no other model has that name.
std::string free_name(const ToServe& all, const ModelSource& source, const char* end) {
  const auto taken = {all.text_name, all.embeddings_name, all.reranker_name};
  std::string name = name_of({}, source);
  while (std::ranges::find(taken, name) != taken.end()) name += end;
  return name;
}

// The kind of the first model; further models are named by options.
enum class FirstModel : uint8_t { kText, kEmbeddings, kReranker };
FirstModel first_model(const ServeArgs& args, const ModelSpec& spec) {
  if (spec.is_reranker()) {
    if (!args.rerank) return FirstModel::kReranker;
    fail(ErrorCode::kUsage, "'{}' is a reranker already: leave out --rerank", spec.source);
  }
  return !args.embed && embeds(spec) ? FirstModel::kEmbeddings : FirstModel::kText;
}

void open_models_beside(const ServeArgs& args, const Machine& machine, const EmbedRole& embedder,
                        const EmbedRole& reranker, ToServe* all) {
  if (args.embed) {
    OpenedModel beside = open_beside(args, *args.embed);
    all->embeddings_name = free_name(*all, beside.source, "-embed");
    all->embeddings.emplace(args, machine, std::move(beside), embedder);
  }
  if (args.rerank) {
    OpenedModel beside = open_beside(args, *args.rerank);
    all->reranker_name = free_name(*all, beside.source, "-rerank");
    all->reranker.emplace(args, machine, std::move(beside), reranker);
  }
}

void open_models(const ServeArgs& args, const Machine& machine, ToServe* all) {
  const NamedModel named = fetch_named_model(args.model, args.offline);
  OpenedModel model = open_named_model(named.path, args.pre, args.engine);
  const std::string name =
      !args.alias && !named.name.empty() ? named.name : name_of(args.alias, model.source);
  const FirstModel first = first_model(args, model.spec);
  const bool text = first == FirstModel::kText;
  const bool embeds = first == FirstModel::kEmbeddings || args.embed;
  const bool ranks = first == FirstModel::kReranker || args.rerank;
  const uint32_t share = text ? kShareBesideText : embeds && ranks ? kShareOfTwo : 1;
  if (text && !embeds && !ranks) refuse_embedding_options(args);
  if (!text && args.gpu.gpu) {
    fail(ErrorCode::kUsage,
         "--gpu works only with text models: for an embedding model give --device gpu");
  }
  EmbedRole embedder{.engine = first == FirstModel::kEmbeddings, .share = share};
  EmbedRole reranker{
      .ranks = true, .devices = !embeds, .engine = first == FirstModel::kReranker, .share = share};
  if (first == FirstModel::kReranker) {
    all->reranker_name = name;
    all->reranker.emplace(args, machine, std::move(model), reranker);
  } else if (first == FirstModel::kEmbeddings) {
    all->embeddings_name = name;
    all->embeddings.emplace(args, machine, std::move(model), embedder);
  } else {
    all->text_name = name;
    all->text.emplace(args, machine, std::move(model));
  }
  open_models_beside(args, machine, embedder, reranker, all);
}

// Loads the pools of the embedding models first, since the text engine uses the cores that pools
// leave.
void load_models(ToServe* all) {
  if (all->embeddings) all->embeddings->load(all->embeddings_name, {});
  if (all->reranker) {
    std::vector<uint32_t> taken;
    if (all->embeddings) taken = all->embeddings->pus();
    all->reranker->load(all->reranker_name, taken);
  }
  if (all->text) all->text->load(all->text_name, all->pool_pus());
}

// Returns the PUs on which no engine computes; empty where no core is left.
std::vector<uint32_t> spare_pus(const Machine& machine, const ToServe& all) {
  std::vector<uint32_t> beside = pus_beside(machine, all.pool_pus());
  if (!all.text) return beside;
  std::vector<uint32_t> spare;
  for (uint32_t pu : all.text->spare_pus()) {
    if (std::ranges::find(beside, pu) != beside.end()) spare.push_back(pu);
  }
  return spare;
}

int list_devices(ToServe* all) {
  std::optional<ServedEmbeddings>& model = all->embeddings ? all->embeddings : all->reranker;
  model->load(all->embeddings ? all->embeddings_name : all->reranker_name, {});
  write_stdout(device_table(model->reports()));
  return 0;
}

// Reads keys, and whatever `more` reads, again at each SIGHUP, until a signal asks for the end.
// Where something cannot be read, the old values stay.
void serve_until_end(const ServeArgs& args, const Termination& termination, App* app,
                     const std::function<void()>& more) {
  while (termination.wait() == Termination::Wish::kReadAgain) {
    try {
      std::vector<std::string> keys;
      if (args.key_file) keys = read_keys(*args.key_file);
      if (more) more();
      app->take_keys(std::move(keys));
      print_stderr("hearth: API keys and models were read again\n");
    } catch (const std::exception& error) {
      print_stderr("hearth: reading again failed, so nothing changes: {}\n", error.what());
    }
  }
}

void end_serving(const AppOptions& options, App* app, Reactor* reactor) {
  app->drain();
  print_stderr(
      "hearth: shutting down; running requests may finish within {} s; a second signal stops them "
      "at once\n",
      options.drain_seconds);
  reactor->join();
  // A request that hangs must not delay the end; nothing remains to be written.
  if (!app->settled()) std::_Exit(0);
}

// Ends the queues before the App, to which they report, even if the reactor ends by an exception.
struct EndQueues {
  void operator()(ToServe* all) const {
    all->embeddings.reset();
    all->reranker.reset();
  }
};

void announce(const ToServe& models, AppOptions* options) {
  options->text = models.text.has_value();
  options->embeddings = models.embeddings.has_value();
  options->ranks = models.reranker.has_value();
}

ServedModels served_models(const ToServe& models) {
  auto served = [](const auto& model) { return model ? &model->served() : nullptr; };
  return {served(models.text), served(models.embeddings), served(models.reranker)};
}

int serve(const ServeArgs& args) {
  AppOptions options = settle_app(args);
  const Machine machine = Machine::live();
  ToServe models;
  open_models(args, machine, &models);
  if (args.embedding.devices.list) return list_devices(&models);
  announce(models, &options);

  App app(options);
  const std::unique_ptr<ToServe, EndQueues> queues(&models);
  {
    Reactor reactor(app);
    print_listening(app, options.http);
    load_models(&models);
    app.pin(spare_pus(machine, models));
    const Termination termination;  // made before clients can connect
    app.serve(served_models(models));
    print_stderr("hearth: serving {} at {}\n", models.names(),
                 address_text(options.http.host, app.port()));
    serve_until_end(args, termination, &app, {});
    end_serving(options, &app, &reactor);
  }
  return 0;
}

// Destroys the set after the reactor has ended, and before the App.
struct SetEnd {
  const std::unique_ptr<ModelSet>& set;
  ~SetEnd() {
    if (set) set->end();
  }
};

// Returns "a and b" from names in two lists; of a large set, gives only the number of names.
std::string names_text(const std::string& beside, const std::vector<std::string>& set) {
  const bool counted = set.empty() || set.size() > kMaxNames;
  std::string all =
      counted ? fmt::format("{} models", set.size()) : fmt::format("{}", fmt::join(set, " and "));
  return beside.empty() ? all : all + " and " + beside;
}

uint64_t set_memory(const ServeArgs& args, const ToServe& beside) {
  uint64_t bytes = args.memory;
  if (bytes == 0) bytes = static_cast<uint64_t>(static_cast<double>(memory_room()) * kMemoryShare);
  uint64_t taken = 0;
  for (const auto* model : {&beside.embeddings, &beside.reranker}) {
    if (*model) taken += (*model)->served().facts.file_bytes;
  }
  return bytes == 0 ? 0 : std::max(uint64_t{1}, bytes - std::min(bytes, taken));
}

int serve_set(const ServeArgs& args, const GivenWords& given, const OptionTree& tree) {
  if (args.alias && (args.models.size() != 1 || args.all_models)) {
    fail(ErrorCode::kUsage,
         "--alias names one model, and there are several: name them in [model.NAME] tables of the "
         "configuration");
  }
  AppOptions options = settle_app(args);
  options.several = true;
  const Machine machine = Machine::live();
  ToServe beside;
  open_models_beside(
      args, machine, {.engine = false, .share = kShareBesideText},
      {.ranks = true, .devices = !args.embed, .engine = false, .share = kShareBesideText}, &beside);
  announce(beside, &options);
  const auto others = std::make_shared<std::vector<uint32_t>>();
  const OfferSetting setting{args, given, machine, std::make_shared<StepTurns>(), others};
  ServedStock stock(setting, given.configuration);
  std::vector<OfferedModel> offers = stock.find();
  if (args.allow_pull) options.stock = &stock;

  std::unique_ptr<ModelSet> set;  // outlives the App, whose requests use its models
  App app(options);
  const std::unique_ptr<ToServe, EndQueues> queues(&beside);
  const SetEnd end{set};
  {
    Reactor reactor(app);
    print_listening(app, options.http);
    // Loading may bind its thread to some cores, so it runs in another thread.
    std::async(std::launch::async, [&] { load_models(&beside); }).get();
    *others = beside.pool_pus();
    set = std::make_unique<ModelSet>(ModelSetOptions{
        set_memory(args, beside), options.completions.max_queue,
        [](const std::string& sentence) { print_stderr("hearth: {}\n", sentence); }});
    set->offer(std::move(offers));
    set->start();
    stock.keep(set.get());
    const Termination termination;
    app.serve(served_models(beside), set.get());
    print_stderr("hearth: serving {} at {}\n", names_text(beside.names(), set->names()),
                 address_text(options.http.host, app.port()));
    serve_until_end(args, termination, &app,
                    [&] { stock.read_again(find_configuration(given.file, tree)); });
    end_serving(options, &app, &reactor);
  }
  return 0;
}

int serve_given(ServeArgs args, const GivenWords& given, const OptionTree& tree) {
  // A client that disconnects must not end the server.
  std::signal(SIGPIPE, SIG_IGN);
  if (args.allow_pull && args.all_models != "") {
    fail(ErrorCode::kUsage,
         "--allow-pull works only when all models of this machine are served: add --models, "
         "without a folder");
  }
  if (serves_set(args, given.configuration)) return serve_set(args, given, tree);
  if (!args.models.empty()) args.model = args.models.front();
  return serve(args);
}

}  // namespace

void add_serve(CLI::App& program, Action& action, const GivenWords& given) {
  CLI::App& verb = *program.add_subcommand("serve", "Serve models over HTTP, as OpenAI's API");
  auto args = std::make_shared<ServeArgs>();
  add_serve_options(verb, args.get());
  add_examples(verb,
               "  hearth serve\n"
               "  hearth serve model.gguf --port 9000 --alias my-model\n"
               "  hearth serve model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
               "  hearth serve model.gguf --ollama\n"
               "  hearth serve small.gguf large.gguf --memory 48GiB\n"
               "  hearth serve --models --ttl 600\n"
               "  hearth serve model.gguf --embed bge-small.gguf\n"
               "  hearth serve bge-large.gguf --slo 1s\n"
               "  hearth serve model.gguf --embed bge-m3.gguf --rerank bge-reranker-v2-m3.gguf\n"
               "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: "
               "application/json' \\\n"
               "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'");
  verb.callback([args, &program, &action, &given] {
    action = [args, &program, &given] { return serve_given(*args, given, option_tree(program)); };
  });
}

}  // namespace hearth
