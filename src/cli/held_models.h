// Models that a server loads on demand and unloads (server/model_set.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/serve_options.h"
#include "server/model_set.h"
#include "topology/machine.h"

namespace hearth {

// The parsed options of one model; `app` parsed them.
struct ModelArgs {
  CLI::App app;
  ServeArgs args;
};

struct ToHold {
  std::string name;
  std::shared_ptr<const ModelArgs> args;
  const Machine* machine;
  std::shared_ptr<const std::vector<uint32_t>> others;  // PUs of models outside of the set
  // Whether some cores are reserved for those models of the set that embed or rank. Models for text
  // then leave these cores free. It is decided before the first model is opened.
  std::shared_ptr<const bool> queues_apart;
};

ModelKind kind_of(const ModelSpec& spec);

// Opens a model without loading it. `file_bytes` is the size of its weights.
std::unique_ptr<HeldModel> open_held_model(const ToHold& model, ModelKind kind,
                                           uint64_t file_bytes);

}  // namespace hearth
