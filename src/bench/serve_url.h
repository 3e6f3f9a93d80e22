// The address of a server that a benchmark asks, and the requests to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/client_request.h"

namespace hearth {

struct ServeUrl {
  std::string authority;  // "HOST" or "HOST:PORT"
  std::string base;       // "" or "/prefix", which precedes every path

  std::string origin() const { return "http://" + authority; }
};

// Parses "http://HOST[:PORT][/PREFIX]"; drops a final /v1 of the prefix. Anything else, https too,
// is an error (kUsage).
ServeUrl parse_serve_url(const std::string& url);

// Returns a request that closes its connection. `path` begins with "/v1/...". An empty `key` sends
// no key. A request without a body is a GET.
ClientRequest serve_request(const ServeUrl& url, std::string_view path, std::string_view key,
                            std::optional<std::string> body);

}  // namespace hearth
