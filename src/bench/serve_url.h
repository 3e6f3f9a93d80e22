// The address of a server that a benchmark asks, and its requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/client_request.h"

namespace hearth {

struct ServeUrl {
  std::string authority;  // "HOST" or "HOST:PORT"
  std::string base;       // "" or "/prefix": what comes before the paths

  std::string origin() const { return "http://" + authority; }
};

// Takes "http://HOST[:PORT][/PREFIX]"; a prefix that ends in /v1 counts without that. Errors
// (kUsage): anything else, https too.
ServeUrl parse_serve_url(const std::string& url);

// A request that closes its connection. `path` begins with "/v1/...". An empty `key` sends none;
// without a body it is a GET.
ClientRequest serve_request(const ServeUrl& url, std::string_view path, std::string_view key,
                            std::optional<std::string> body);

}  // namespace hearth
