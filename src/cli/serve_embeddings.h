// A model for embeddings that `hearth serve` serves, or a reranker, from its file to queues over
// its devices.
//
//   ServedEmbeddings embeddings(args, machine, std::move(model), role);  // refuses what can be
//   embeddings.load(name, {});                                           // takes time
//   app.serve({.embedder = &embeddings.served()});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/embed_model.h"
#include "cli/serve_options.h"
#include "embed/device_clock.h"
#include "embed/embed_setup.h"
#include "server/served_embedder.h"

namespace hearth {

// Whether the model is one for embeddings: an encoder, or a decoder whose file says how its texts
// are pooled.
bool embeds(const ModelSpec& spec);

// A model with queues works on one in so many cores beside a model for text.
inline constexpr uint32_t kShareBesideText = 4;

// The role of a model in a server.
struct EmbedRole {
  bool ranks = false;   // it scores pairs of texts, and makes no vectors
  bool devices = true;  // the options of devices are its own
  bool engine = true;   // so are those of an engine
  uint32_t share = 1;   // without devices of its own it works on one in so many cores
};

class ServedEmbeddings {
 public:
  // `machine` outlives it.
  ServedEmbeddings(const ServeArgs& args, const Machine& machine, OpenedModel model,
                   const EmbedRole& role);

  // Keeps off `others`, PUs that somebody else works on, unless the options say where to be. Throws
  // (kResource) where no device has a queue.
  void load(const std::string& name, const std::vector<uint32_t>& others);

  const ServedEmbedder& served() const { return *served_; }
  const std::vector<DeviceReport>& reports() const { return setup_.reports; }
  // Returns the PUs that the pools work on.
  const std::vector<uint32_t>& pus() const { return setup_.pus; }

 private:
  void write_plan(Json& json, const std::string& name) const;

  EmbedModelArgs args_;
  const EmbedRole role_;
  const Machine& machine_;
  const uint64_t queue_tokens_;
  EmbedModel model_;
  SteadyClock clock_;
  EmbedSetup setup_;
  std::unique_ptr<QueueManager> queues_;
  std::optional<ServedEmbedder> served_;
};

}  // namespace hearth
