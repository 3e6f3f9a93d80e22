// A model for embeddings that `hearth serve` serves, from its file to queues over its devices.
//
//   ServedEmbeddings embeddings(args, machine, std::move(model), alone);  // refuses what can be
//   embeddings.load(name);                                                // takes time
//   app.serve(nullptr, &embeddings.served());
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

class ServedEmbeddings {
 public:
  // `alone`: there is no model for text beside it, so that it may work on every core. `machine`
  // outlives it.
  ServedEmbeddings(const ServeArgs& args, const Machine& machine, OpenedModel model, bool alone);

  // Throws (kResource) where no device has a queue.
  void load(const std::string& name);

  const ServedEmbedder& served() const { return *served_; }
  const std::vector<DeviceReport>& reports() const { return setup_.reports; }
  // That pools work on.
  const std::vector<uint32_t>& pus() const { return setup_.pus; }

 private:
  void write_plan(Json& json, const std::string& name) const;

  EmbedModelArgs args_;
  const Machine& machine_;
  const uint64_t queue_tokens_;
  EmbedModel model_;
  SteadyClock clock_;
  EmbedSetup setup_;
  std::unique_ptr<QueueManager> queues_;
  std::optional<ServedEmbedder> served_;
};

}  // namespace hearth
