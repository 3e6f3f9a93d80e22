// A request as it came over HTTP, and what is answered to it. Field names are in lower case; the
// target's path is as it was sent, checked to be one of RFC 3986 with whole percent escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The form of errors and streams.
enum class HttpDialect : uint8_t {
  kEvents,  // {"error": {"message": ...}}, and text/event-stream
  kLines,   // {"error": "..."}, and application/x-ndjson: a JSON object a line
};

struct HttpRequest {
  std::string id;                   // unique, also sent back as X-Request-Id
  std::string method, path, query;  // the query without its '?'
  unsigned minor = 1;               // of HTTP/1.x
  HttpFields fields;                // in the order in which they came
  std::string body = {};
  std::string peer;                            // the client's address
  std::string client = {};                     // with whom others share (http/client_shares.h)
  HttpDialect dialect = HttpDialect::kEvents;  // of what answers it
  double received_seconds = 0;                 // steady_seconds() when its header was complete

  // Returns the first field of that name; null where there is none.
  const std::string* find(std::string_view lower_case_name) const;
};

struct HttpReply {
  unsigned status = 200;
  std::string content_type = "application/json";  // empty: no such field
  HttpFields fields = {};
  std::string body = {};
};

// "Not Found" for 404.
std::string_view status_text(unsigned status);

}  // namespace hearth
