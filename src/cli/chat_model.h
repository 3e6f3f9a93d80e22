// The model for `hearth chat`: either on a server elsewhere, or loaded in this process. In the
// second case this process serves it to itself on a port of 127.0.0.1, which a random key keeps
// others from using.
#pragma once

#include <optional>
#include <string>

#include "cli/serve_options.h"

namespace hearth {

struct ChatArgs {
  ServeArgs serve;  // for a model loaded here; its `model` may be a URL
  std::optional<std::string> system, server_model;
  bool no_history = false;
};

// Returns whether `model` is a server's address, and not a model on a hub.
bool names_server(const std::string& model);

// Runs the chat, also for `hearth run --chat`. Returns the exit status.
int chat_with(ChatArgs args);

}  // namespace hearth
