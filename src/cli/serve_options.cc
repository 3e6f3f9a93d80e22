#include "cli/serve_options.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/sampling_options.h"
#include "server/origin.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

constexpr uint32_t kMost = 1u << 20;
constexpr uint32_t kMostQueueTokens = 1u << 30;
constexpr double kMostWaitSeconds = 86'400, kMostTtlSeconds = 1e9;

CLI::Option* add_seconds(CLI::App& verb, const std::string& name, double* value,
                         const std::string& help) {
  return verb.add_option(name, *value, help)
      ->check(CLI::Range(0.001, kMostWaitSeconds).description(""))
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", *value));
}

void add_set_options(CLI::App& verb, ServeArgs* args) {
  auto set_all = [args](const std::string& folder) { args->all_models = folder; };
  verb.add_option_function<std::string>("--models", set_all,
                                        "Serve every model on this machine (`hearth list`), or in "
                                        "DIR, beside MODEL; each is loaded when it is asked for")
      ->expected(0, 1)
      ->type_name("DIR");
  verb.add_flag("--allow-pull", args->allow_pull,
                "With --models of this machine: clients of ollama's API may get models of a hub, "
                "and remove those that lie in Hugging Face's cache");
  add_size(verb, "--memory", &args->memory,
           "Memory of all models, where there are several; those that were used longest ago make "
           "room; default: 85 % of what there is");
}

void add_address_options(CLI::App& verb, ServeArgs* args) {
  HttpOptions& http = args->app.http;
  verb.add_option("--host", http.host, "Name or address to listen at; 0.0.0.0 is every one")
      ->capture_default_str()
      ->type_name("HOST");
  add_count(verb, "--port", &args->port, 0, 65'535,
            "Port to listen at; 0 is any free one, which is printed")
      ->capture_default_str()
      ->type_name("PORT");
  verb.add_flag("--ollama", args->ollama,
                "Listen at 127.0.0.1 port 11434 as well, where clients of ollama look for it");
  verb.add_option("--ollama-port", args->ollama_port,
                  "The same at another port of 127.0.0.1; 0 is any free one, which is printed")
      ->check(CLI::Range(0, 65'535).description(""))
      ->type_name("PORT");
  add_text(verb, "--api-key-file", &args->key_file, "FILE",
           "Keys, one a line; every request but for the page and health needs one");
  verb.add_flag("--no-auth", args->no_auth, "Let others than this machine ask without a key");
  verb.add_option("--allow-host", args->app.names,
                  "Name by which clients may ask besides localhost and addresses; may be given "
                  "several times")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_option("--allow-origin", args->app.origins,
                  "Origin of web pages that may ask and read answers (CORS), as "
                  "https://chat.example, tauri://localhost or null; may be given several times; * "
                  "is every one, with keys or --no-auth only")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
}

void add_load_options(CLI::App& verb, ServeArgs* args) {
  CompletionOptions& options = args->app.completions;
  add_count(verb, "--max-running", &options.max_running, 1, 4096,
            "Texts that are generated at the same time")
      ->capture_default_str();
  add_count(verb, "--max-queue", &options.max_queue, 0, kMost,
            "Texts that may wait for a place, half of them one client's; beyond, 429")
      ->capture_default_str();
  add_seconds(verb, "--stall-timeout", &options.stall_seconds,
              "A stream that its client lets wait so long is ended where others want its place");
  add_seconds(verb, "--drain-timeout", &args->app.drain_seconds,
              "How long requests under way have after SIGTERM");
  CLI::Option* as_json = verb.add_flag("--log-json", args->log_json, "Log requests as JSON");
  verb.add_flag("--no-log", args->no_log, "Log no requests")->excludes(as_json);
}

void add_http_limits(CLI::App& verb, HttpOptions* http) {
  add_count(verb, "--max-connections", &http->connections, 1, kMost,
            "Open connections; beyond, the longest-idle one is closed for a new one")
      ->capture_default_str();
  add_count(verb, "--max-address-connections", &http->address_connections, 0, kMost,
            "Those of one address (of a /64 of IPv6), of all clients behind a proxy too; 0 is a "
            "quarter of all")
      ->capture_default_str();
  add_count(verb, "--max-header", &http->header_bytes, 1u << 10, 1u << 24,
            "Bytes of a request's header; beyond, 431")
      ->capture_default_str();
  add_count(verb, "--max-header-fields", &http->header_fields, 1, kMost,
            "Fields of it; beyond, 431")
      ->capture_default_str();
  add_size(verb, "--max-body", &http->body_bytes, "Bytes of a request's body; beyond, 413");
  add_size(verb, "--max-bodies", &http->all_body_bytes,
           "Bytes of all bodies under way, half of them one client's; beyond, 503");
  add_size(verb, "--max-replies", &http->all_reply_bytes,
           "Bytes of all replies under way; beyond, 503");
  add_seconds(verb, "--header-timeout", &http->header_seconds, "For a request's header; 408");
  add_seconds(verb, "--body-timeout", &http->body_seconds, "For its body; 408");
  add_seconds(verb, "--idle-timeout", &http->idle_seconds,
              "A connection without requests is closed after that");
  add_seconds(verb, "--write-timeout", &http->write_seconds,
              "A client is cut off that lets its answer wait so long in all for each MiB that it "
              "takes");
}

void add_body_limits(CLI::App& verb, RequestLimits* limits) {
  struct Limit {
    const char* name;
    uint32_t RequestLimits::*value;
    const char* help;
  };
  for (const Limit& limit : std::initializer_list<Limit>{
           {"--max-depth", &RequestLimits::depth, "How deep JSON may be nested"},
           {"--max-messages", &RequestLimits::messages, "Messages of a chat"},
           {"--max-prompts", &RequestLimits::prompts, "Prompts of one request"},
           {"--max-stops", &RequestLimits::stops, "Stop strings"},
           {"--max-biases", &RequestLimits::biases, "Entries of logit_bias"},
           {"--max-choices", &RequestLimits::choices, "`n`"},
           {"--max-top-logprobs", &RequestLimits::top_logprobs, "`top_logprobs`"}}) {
    add_count(verb, limit.name, &(limits->*limit.value), 1, kMost,
              std::string(limit.help) + "; beyond, 400")
        ->capture_default_str();
  }
}

void add_embedding_options(CLI::App& verb, ServeArgs* args) {
  add_text(verb, "--embed", &args->embed, "FILE",
           "A model for embeddings beside the one for text; it works on a quarter of the cores, "
           "unless --device says where");
  add_text(verb, "--rerank", &args->rerank, "FILE",
           "A reranker beside the others: a cross-encoder, or a model that answers yes or no "
           "(Qwen3-Reranker); it works on a quarter of the cores, and where there is no model for "
           "embeddings --device says where");
  add_count(verb, "--embed-queue", &args->embed_queue, 1, kMostQueueTokens,
            "Tokens that may wait and run on a device where there is no --slo, of texts to embed, "
            "and of documents to rank; beyond, 429")
      ->capture_default_str();
  add_size(verb, "--embed-memory", &args->app.embedding_limits.memory_bytes,
           "Memory of texts, vectors and replies under way; beyond, 429");
  add_count(verb, "--max-inputs", &args->app.embedding_limits.inputs, 1, kMost,
            "Texts of one request for embeddings, or documents of one to rank them; beyond, 400")
      ->capture_default_str();
}

// Adds the options that belong to one model.
void add_model_options(CLI::App& verb, ServeArgs* args) {
  add_text(
      verb, "--alias", &args->alias, "NAME",
      "What requests call the model; default: the file's name; in a configuration's table of a "
      "model another name of it");
  verb.add_flag("--pin", args->pin, "Of several models: what is loaded stays, whoever needs room");
  auto set_ttl = [args](const double& seconds) { args->ttl_seconds = seconds; };
  verb.add_option_function<double>("--ttl", set_ttl,
                                   "Unload a model that nobody has used for so long; default: it "
                                   "stays while nobody needs its memory")
      ->check(CLI::Range(0.0, kMostTtlSeconds).description(""))
      ->type_name("SECONDS");
  add_text(verb, "--chat-template", &args->template_path, "FILE",
           "Chat template (Jinja) in place of the model's own");
  args->sampling = openai_sampling();
  args->take_sampling = add_sampling_options(verb, &args->sampling);
  add_engine_options(verb, &args->engine,
                     "Positions of a text, its prompt included; default: the model's own, or what "
                     "--kv-cache holds");
  add_state_cache(verb, &args->engine.state_bytes);
  add_gpu_options(verb, &args->gpu);
  add_pre(verb, &args->pre);
  add_pooling(verb, &args->embedding.pooling);
  add_device_options(verb, &args->embedding.devices);
}

}  // namespace

std::vector<std::string> model_option_keys() {
  CLI::App scratch;
  ServeArgs args;
  add_model_options(scratch, &args);
  std::vector<std::string> keys;
  for (const CLI::Option* option : scratch.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option != scratch.get_help_ptr() && !names.empty()) keys.push_back(names.front());
  }
  return keys;
}

void add_serve_options(CLI::App& verb, ServeArgs* args) {
  verb.add_option("MODEL", args->models,
                  "GGUF files (of several parts, the first), folders with safetensors files, or "
                  "names (`hearth list`, or a configuration's); default: the demo model")
      ->type_name("MODEL");
  add_offline(verb, &args->offline);
  add_set_options(verb, args);
  add_address_options(verb, args);
  add_load_options(verb, args);
  add_model_options(verb, args);
  add_embedding_options(verb, args);
  add_http_limits(verb, &args->app.http);
  add_body_limits(verb, &args->app.completions.limits);
}

AppOptions settle_app(const ServeArgs& args) {
  AppOptions app = args.app;
  app.http.port = static_cast<uint16_t>(args.port);
  if (args.ollama || args.ollama_port) {
    const auto port = static_cast<uint16_t>(args.ollama_port.value_or(kOllamaPort));
    app.http.others.push_back(
        {"127.0.0.1", port, "end what listens there, or choose another port (--ollama-port)"});
  }
  if (args.key_file) app.keys = read_keys(*args.key_file);
  if (!is_loopback(app.http.host) && app.keys.empty() && !args.no_auth) {
    fail(ErrorCode::kUsage,
         "--host {} lets others than this machine ask: give --api-key-file FILE, or --no-auth "
         "where anybody may",
         app.http.host);
  }
  for (std::string& origin : app.origins) origin = origin_option(origin);
  if (std::ranges::count(app.origins, "*") > 0 && app.keys.empty() && !args.no_auth) {
    fail(ErrorCode::kUsage,
         "--allow-origin * lets every page that a browser opens ask: give --api-key-file FILE, or "
         "--no-auth where anybody may");
  }
  app.log = args.no_log     ? RequestLog::Form::kNone
            : args.log_json ? RequestLog::Form::kJson
                            : RequestLog::Form::kText;
  app.log_all = args.engine.verbose;
  return app;
}

int64_t file_time(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? int64_t{facts.st_mtime} : 0;
}

void refuse_embedding_options(const ServeArgs& args) {
  const EmbedModelArgs& embed = args.embedding;
  bool given = embed.pooling || !embed.devices.devices.empty() || embed.devices.offload ||
               embed.devices.list || std::isfinite(embed.devices.slo);
  if (!given) return;
  fail(ErrorCode::kUsage,
       "--pooling, --device, --offload, --slo and --list-devices are for embeddings and rerankers: "
       "name such a model, by --embed FILE or --rerank FILE beside this one");
}

ServiceOptions service_options(const ServeArgs& args) {
  const CompletionOptions& completions = args.app.completions;
  ServiceOptions options;
  options.scheduler.max_running = completions.max_running;
  options.make_streamer = streamer_maker(args.gpu, true);
  options.turns = args.turns;
  // The server bounds them itself; those that were cancelled count here until the next step.
  options.max_waiting =
      std::max(options.max_waiting, 2 * (completions.max_running + completions.max_queue));
  return options;
}

}  // namespace hearth
