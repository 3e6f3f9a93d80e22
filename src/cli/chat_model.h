// The model that `hearth chat` talks to: a server somewhere, or a model that is loaded here, behind
// a server of its own that only this process can ask: at a port of 127.0.0.1, with a key that is
// made for it.
#pragma once

#include <optional>
#include <string>

#include "cli/serve_options.h"

namespace hearth {

struct ChatArgs {
  ServeArgs serve;  // of a model here; its `model` may be a URL
  std::optional<std::string> system, server_model;
  bool no_history = false;
};

// Whether it is the address of a server, and not of a model on a hub.
bool names_server(const std::string& model);

// The verb, also for `hearth run --chat`. Returns the exit status.
int chat_with(ChatArgs args);

}  // namespace hearth
