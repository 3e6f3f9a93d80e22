// A request as it came over HTTP, and its reply. Names of fields are in lower case. The target's
// path is as it was sent; it was checked to be a path of RFC 3986 with well-formed percent escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The form of errors and streams in an answer.
enum class HttpDialect : uint8_t {
  kEvents,  // {"error": {"message": ...}}, and text/event-stream
  kLines,   // {"error": "..."}, and application/x-ndjson: a JSON object a line
};

struct HttpRequest {
  std::string id;                   // unique; sent back as X-Request-Id
  std::string method, path, query;  // `query` without its '?'
  unsigned minor = 1;               // the x of HTTP/1.x
  HttpFields fields;                // in the order in which they came
  std::string body = {};
  std::string peer;  // the client's address
  // The name by which shares are counted (http/client_shares.h).
  std::string client = {};
  HttpDialect dialect = HttpDialect::kEvents;  // the answer's form
  double received_seconds = 0;                 // steady_seconds() at its header's end

  // Returns the value of the first field with this name; null where there is none.
  const std::string* find(std::string_view lower_case_name) const;
};

struct HttpReply {
  unsigned status = 200;
  std::string content_type = "application/json";  // empty: the field is left out
  HttpFields fields = {};
  std::string body = {};
};

// Returns a status's reason phrase: "Not Found" for 404.
std::string_view status_text(unsigned status);

}  // namespace hearth
