// Options of `hearth serve`: addresses, who may ask, concurrency, and limits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/embed_model.h"
#include "cli/options.h"
#include "engine/sampler.h"
#include "engine/service.h"
#include "server/app.h"

namespace hearth {

// The most tokens that may wait for a device without a deadline: as many as the longest request
// has, 2,048 texts of 512 tokens.
inline constexpr uint32_t kEmbedQueueTokens = 1u << 20;

// The default share of this machine's memory for models.
inline constexpr double kMemoryShare = 0.85;

// ollama's default port.
inline constexpr uint16_t kOllamaPort = 11434;

struct ServeArgs {
  std::vector<std::string> models;
  std::string model;  // the only one of `models`
  // The folder of --models; empty: all models on this machine; none: the option was not given.
  std::optional<std::string> all_models;
  uint64_t memory = 0;  // bytes for all models; 0: kMemoryShare
  bool pin = false;
  bool allow_pull = false;
  std::optional<double> ttl_seconds;
  std::shared_ptr<StepTurns> turns;  // shared by engines on the same cores
  // The embedding model and the reranker beside the first model.
  std::optional<std::string> embed, rerank;
  EmbedModelArgs embedding;  // options of pooling and devices
  uint32_t embed_queue = kEmbedQueueTokens;
  EngineArgs engine;
  PromptGpuArgs gpu;
  std::optional<std::string> pre, alias, template_path, key_file;
  bool no_auth = false, log_json = false, no_log = false, offline = false;
  bool quiet = false;  // nothing is printed at the start
  uint32_t port = HttpOptions{}.port;
  bool ollama = false;
  std::optional<uint32_t> ollama_port;
  AppOptions app;
  SamplingParams sampling;
  // Copies the sampling options of the command line.
  std::function<void(SamplingParams*)> take_sampling;
};

void add_serve_options(CLI::App& verb, ServeArgs* args);
// Returns the keys of the options that may be set for one model.
std::vector<std::string> model_option_keys();

// Returns the App's options. Throws (kUsage) where other machines, or pages of any origin, could
// use the server without a key and --no-auth was not given; and the errors of reading keys and
// origins.
AppOptions settle_app(const ServeArgs& args);

// Returns the modification time of a file, in Unix seconds; 0 where there is none.
int64_t file_time(const std::string& path);

// Throws (kUsage) where embedding options were given, but no such model is served.
void refuse_embedding_options(const ServeArgs& args);

ServiceOptions service_options(const ServeArgs& args);

}  // namespace hearth
