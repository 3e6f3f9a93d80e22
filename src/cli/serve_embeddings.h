// A model for embeddings, or a reranker, that `hearth serve` serves: from its file to queues over
// devices.
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

// Returns whether the model is one for embeddings: an encoder, or a decoder whose file states a
// pooling.
bool embeds(const ModelSpec& spec);

// A model for embeddings beside a model for text computes on 1 / kShareBesideText of the cores.
inline constexpr uint32_t kShareBesideText = 4;

// The role of a model in a server, and which options apply to it.
struct EmbedRole {
  bool ranks = false;   // it scores pairs of texts, and makes no vectors
  bool devices = true;  // options of devices apply to it
  bool engine = true;   // options of an engine apply to it
  uint32_t share = 1;   // without devices of the user it computes on 1 / share of the cores
};

class ServedEmbeddings {
 public:
  // `machine` must outlive the object.
  ServedEmbeddings(const ServeArgs& args, const Machine& machine, OpenedModel model,
                   const EmbedRole& role);

  // Loads the model. Avoids the PUs `others`, on which other models compute, unless the options
  // place this model. Throws (kResource) where no device has a queue.
  void load(const std::string& name, const std::vector<uint32_t>& others);

  const ServedEmbedder& served() const { return *served_; }
  const std::vector<DeviceReport>& reports() const { return setup_.reports; }
  // Returns the PUs that the pools compute on.
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
