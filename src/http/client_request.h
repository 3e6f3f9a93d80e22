// ClientRequest: a request that an HTTP client sends.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth {

struct ClientRequest {
  std::string url;
  std::vector<std::string> fields = {};  // lines of its header: "Authorization: Bearer KEY"
  std::optional<std::string> body = {};  // sent by POST; without a body the request is a GET
};

}  // namespace hearth
