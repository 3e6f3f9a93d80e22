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

constexpr uint32_t kMaxCount = 1u << 20;
constexpr uint32_t kMaxQueueTokens = 1u << 30;
constexpr double kMaxWaitSeconds = 86'400, kMaxTtlSeconds = 1e9;

CLI::Option* add_seconds(CLI::App& verb, const std::string& name, double* value,
                         const std::string& help) {
  return verb.add_option(name, *value, help)
      ->check(CLI::Range(0.001, kMaxWaitSeconds).description(""))
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", *value));
}

void add_set_options(CLI::App& verb, ServeArgs* args) {
  auto set_all = [args](const std::string& folder) { args->all_models = folder; };
  verb.add_option_function<std::string>("--models", set_all,
                                        "Serve every model on this machine (`hearth list`), or in "
                                        "DIR, besides MODEL; each is loaded on its first request")
      ->expected(0, 1)
      ->type_name("DIR");
  verb.add_flag("--allow-pull", args->allow_pull,
                "With --models without DIR: let clients of ollama's API pull models from a hub, "
                "and delete models of Hugging Face's cache");
  add_size(verb, "--memory", &args->memory,
           "Memory for all models together; the least recently used are unloaded to make room; "
           "default: 85 % of the memory");
}

void add_address_options(CLI::App& verb, ServeArgs* args) {
  HttpOptions& http = args->app.http;
  verb.add_option("--host", http.host, "Name or address to listen at; 0.0.0.0: all addresses")
      ->capture_default_str()
      ->type_name("HOST");
  add_count(verb, "--port", &args->port, 0, 65'535,
            "Port to listen at; 0: any free port, which is printed")
      ->capture_default_str()
      ->type_name("PORT");
  verb.add_flag("--ollama", args->ollama,
                "Listen at 127.0.0.1 port 11434 as well, where ollama's clients connect");
  verb.add_option("--ollama-port", args->ollama_port,
                  "As --ollama, at another port; 0: any free port, which is printed")
      ->check(CLI::Range(0, 65'535).description(""))
      ->type_name("PORT");
  add_text(
      verb, "--api-key-file", &args->key_file, "FILE",
      "File of API keys, one a line; every request but those for the page and health needs one");
  verb.add_flag("--no-auth", args->no_auth,
                "Allow requests from other machines without an API key");
  verb.add_option(
          "--allow-host", args->app.names,
          "Host name that requests may use, besides localhost and addresses; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_option("--allow-origin", args->app.origins,
                  "Origin of web pages that may send requests (CORS), such as "
                  "https://chat.example, tauri://localhost or null; may be repeated; *: any "
                  "origin, only with API keys or --no-auth")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
}

void add_load_options(CLI::App& verb, ServeArgs* args) {
  CompletionOptions& options = args->app.completions;
  add_count(verb, "--max-running", &options.max_running, 1, 4096,
            "Texts to generate at the same time")
      ->capture_default_str();
  add_count(verb, "--max-queue", &options.max_queue, 0, kMaxCount,
            "Texts that may wait, at most half of them from one client; more are refused with 429")
      ->capture_default_str();
  add_seconds(verb, "--stall-timeout", &options.stall_seconds,
              "End a stream whose client has not read for so long, if other requests wait");
  add_seconds(verb, "--drain-timeout", &args->app.drain_seconds,
              "How long running requests may continue after SIGTERM");
  CLI::Option* as_json = verb.add_flag("--log-json", args->log_json, "Log each request as JSON");
  verb.add_flag("--no-log", args->no_log, "Do not log requests")->excludes(as_json);
}

void add_http_limits(CLI::App& verb, HttpOptions* http) {
  add_count(verb, "--max-connections", &http->connections, 1, kMaxCount,
            "Open connections; for one more, the connection idle for longest is closed")
      ->capture_default_str();
  add_count(verb, "--max-address-connections", &http->address_connections, 0, kMaxCount,
            "Open connections from one address (for IPv6, from one /64 network), such as a proxy; "
            "0: a quarter of --max-connections")
      ->capture_default_str();
  add_count(verb, "--max-header", &http->header_bytes, 1u << 10, 1u << 24,
            "Bytes of a request's header; more is refused with 431")
      ->capture_default_str();
  add_count(verb, "--max-header-fields", &http->header_fields, 1, kMaxCount,
            "Fields of a request's header; more are refused with 431")
      ->capture_default_str();
  add_size(verb, "--max-body", &http->body_bytes,
           "Bytes of a request's body; more is refused with 413");
  add_size(verb, "--max-bodies", &http->all_body_bytes,
           "Bytes of all request bodies being read, at most half of them from one client; more is "
           "refused with 503");
  add_size(verb, "--max-replies", &http->all_reply_bytes,
           "Bytes of all replies being sent; more is refused with 503");
  add_seconds(verb, "--header-timeout", &http->header_seconds,
              "Time to receive a request's header; later: 408");
  add_seconds(verb, "--body-timeout", &http->body_seconds,
              "Time to receive a request's body; later: 408");
  add_seconds(verb, "--idle-timeout", &http->idle_seconds,
              "Close a connection after so long without a request");
  add_seconds(verb, "--write-timeout", &http->write_seconds,
              "Disconnect a client that reads slower than 1 MiB in so many seconds");
}

void add_body_limits(CLI::App& verb, RequestLimits* limits) {
  struct Limit {
    const char* name;
    uint32_t RequestLimits::*value;
    const char* help;
  };
  for (const Limit& limit : std::initializer_list<Limit>{
           {"--max-depth", &RequestLimits::depth, "Nesting depth of JSON"},
           {"--max-messages", &RequestLimits::messages, "Messages of one chat"},
           {"--max-prompts", &RequestLimits::prompts, "Prompts of one request"},
           {"--max-stops", &RequestLimits::stops, "Stop strings of one request"},
           {"--max-biases", &RequestLimits::biases, "Entries of logit_bias"},
           {"--max-choices", &RequestLimits::choices, "`n`"},
           {"--max-top-logprobs", &RequestLimits::top_logprobs, "`top_logprobs`"}}) {
    add_count(verb, limit.name, &(limits->*limit.value), 1, kMaxCount,
              std::string(limit.help) + "; more is refused with 400")
        ->capture_default_str();
  }
}

void add_embedding_options(CLI::App& verb, ServeArgs* args) {
  add_text(verb, "--embed", &args->embed, "FILE",
           "An embedding model to serve besides the text model; it runs on a quarter of the cores, "
           "unless --device is given");
  add_text(verb, "--rerank", &args->rerank, "FILE",
           "A reranker to serve besides the others: a cross-encoder, or a model that answers yes "
           "or no (Qwen3-Reranker); it runs on a quarter of the cores, or on --device if there is "
           "no embedding model");
  add_count(verb, "--embed-queue", &args->embed_queue, 1, kMaxQueueTokens,
            "Without --slo: tokens of texts or documents that may wait and run on a device; more "
            "are refused with 429")
      ->capture_default_str();
  add_size(verb, "--embed-memory", &args->app.embedding_limits.memory_bytes,
           "Memory for texts, vectors and replies being processed; more is refused with 429");
  add_count(verb, "--max-inputs", &args->app.embedding_limits.inputs, 1, kMaxCount,
            "Texts of one embedding request, or documents of one rerank request; more is refused "
            "with 400")
      ->capture_default_str();
}

// Adds the options that apply to one model.
void add_model_options(CLI::App& verb, ServeArgs* args) {
  add_text(verb, "--alias", &args->alias, "NAME",
           "Model name in requests; default: the file's name; in a configuration's [model.NAME] "
           "table: one more name");
  verb.add_flag("--pin", args->pin, "Never unload a loaded model to make room for another");
  auto set_ttl = [args](const double& seconds) { args->ttl_seconds = seconds; };
  verb.add_option_function<double>(
          "--ttl", set_ttl,
          "Unload a model after so long without use; default: only when its memory is needed")
      ->check(CLI::Range(0.0, kMaxTtlSeconds).description(""))
      ->type_name("SECONDS");
  add_text(verb, "--chat-template", &args->template_path, "FILE",
           "Chat template (Jinja) instead of the model's own");
  args->sampling = openai_sampling();
  args->take_sampling = add_sampling_options(verb, &args->sampling);
  add_engine_options(verb, &args->engine,
                     "Context length of a text in tokens, with its prompt; default: the model's "
                     "own, or what --kv-cache holds");
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
         "--host {} accepts requests from other machines: give --api-key-file FILE, or --no-auth "
         "to allow anybody",
         app.http.host);
  }
  for (std::string& origin : app.origins) origin = origin_option(origin);
  if (std::ranges::count(app.origins, "*") > 0 && app.keys.empty() && !args.no_auth) {
    fail(ErrorCode::kUsage,
         "--allow-origin * accepts requests from every web page: give --api-key-file FILE, or "
         "--no-auth to allow anybody");
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
       "--pooling, --device, --offload, --slo and --list-devices work only with embedding models "
       "and rerankers: add one with --embed FILE or --rerank FILE");
}

ServiceOptions service_options(const ServeArgs& args) {
  const CompletionOptions& completions = args.app.completions;
  ServiceOptions options;
  options.scheduler.max_running = completions.max_running;
  options.make_streamer = streamer_maker(args.gpu, true);
  options.turns = args.turns;
  // The server itself limits requests. The service allows more, since it counts a cancelled request
  // until the next step.
  options.max_waiting =
      std::max(options.max_waiting, 2 * (completions.max_running + completions.max_queue));
  return options;
}

}  // namespace hearth
