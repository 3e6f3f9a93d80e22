// The request of an HTTP client.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth {

struct ClientRequest {
  std::string url;
  std::vector<std::string> fields = {};  // lines of its header: "Authorization: Bearer KEY"
  std::optional<std::string> body = {};  // is posted; without one the request is a GET
};

}  // namespace hearth
