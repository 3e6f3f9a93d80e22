// Models that a server holds for as long as they are wanted (server/model_set.h).
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

// The options of one model, and what they were read with.
struct ModelArgs {
  CLI::App app;
  ServeArgs args;
};

struct ToHold {
  std::string name;
  std::shared_ptr<const ModelArgs> args;
  const Machine* machine;
  std::shared_ptr<const std::vector<uint32_t>> others;  // PUs that somebody else works on
  // Whether models of the set that embed or rank have cores of their own, which those for text
  // leave them. By the time it is opened it is settled.
  std::shared_ptr<const bool> queues_apart;
};

ModelKind kind_of(const ModelSpec& spec);

// Opens it, and loads nothing. `file_bytes`: of its weights.
std::unique_ptr<HeldModel> open_held_model(const ToHold& model, ModelKind kind,
                                           uint64_t file_bytes);

}  // namespace hearth
