// The options of `hearth serve`: what it listens at, who may ask, how much at once, and the limits.
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

// Tokens that may wait for a device without a time to keep: the longest request, of 2,048 texts
// of 512.
inline constexpr uint32_t kEmbedQueueTokens = 1u << 20;

// The part of this machine's memory that models may take, where nobody says.
inline constexpr double kMemoryShare = 0.85;

// The port at which ollama listens.
inline constexpr uint16_t kOllamaPort = 11434;

struct ServeArgs {
  std::vector<std::string> models;
  std::string model;  // of them, where it is one
  // --models, and its folder; empty: all that is on this machine.
  std::optional<std::string> all_models;
  uint64_t memory = 0;  // of all models; 0: kMemoryShare of what there is
  bool pin = false;
  bool allow_pull = false;
  std::optional<double> ttl_seconds;
  std::shared_ptr<StepTurns> turns;  // of engines that share the cores
  // A model for embeddings and a reranker beside the first model.
  std::optional<std::string> embed, rerank;
  EmbedModelArgs embedding;  // pooling and devices
  uint32_t embed_queue = kEmbedQueueTokens;
  EngineArgs engine;
  PromptGpuArgs gpu;
  std::optional<std::string> pre, alias, template_path, key_file;
  bool no_auth = false, log_json = false, no_log = false, offline = false;
  bool quiet = false;  // nothing is told of the start
  uint32_t port = HttpOptions{}.port;
  bool ollama = false;
  std::optional<uint32_t> ollama_port;
  AppOptions app;
  SamplingParams sampling;
  // Copies what the command line says of sampling over what it is told.
  std::function<void(SamplingParams*)> take_sampling;
};

void add_serve_options(CLI::App& verb, ServeArgs* args);
// The keys of those of them that say something of one model.
std::vector<std::string> model_option_keys();

// Throws (kUsage) where others than this machine, or pages of any origin, could ask without a key
// and --no-auth was not given; and what reading the keys and the origins throws.
AppOptions settle_app(const ServeArgs& args);

// The modification time of a file, in Unix seconds; 0 where there is none.
int64_t file_time(const std::string& path);

// Throws (kUsage) where options say how to embed, and no model for that is served.
void refuse_embedding_options(const ServeArgs& args);

ServiceOptions service_options(const ServeArgs& args);

}  // namespace hearth
