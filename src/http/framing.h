// Parses the head of a request: its fields, and how its body ends. Boost.Beast parses; forms that
// Beast accepts and another server on the way might read differently are refused here:
//   - line ends other than CRLF, control characters, folded lines (HttpReader refuses these)
//   - several Content-Length or Transfer-Encoding fields, or both, a list in either; a coding
//     other than `chunked` (501); a coding in HTTP/1.0
//   - no Host in HTTP/1.1, two, or one that is no host and port
//   - targets that are no path, with or without http://HOST before it: fragments, bytes that
//     RFC 3986 wants escaped, malformed escapes, %00; methods not in upper-case letters
//   - versions other than 1.0 and 1.1 (505); expectations other than 100-continue (417)
//   - bodies that are compressed (415)
// A host in the target replaces the Host field's (RFC 9112, 3.2.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/api_error.h"
#include "http/request.h"

namespace hearth {

struct HttpHead {
  HttpRequest request;
  bool chunked = false;
  uint64_t content_length = 0;
  bool expects_continue = false;
  bool keep_alive = true;  // whether the client wants the connection to stay open

  bool has_body() const { return chunked || content_length > 0; }
};

ApiError http_error(unsigned status, std::string_view code, std::string_view message);

// Parses a head, which must end with an empty line, into `head`. Returns nothing, or the error to
// answer.
std::optional<ApiError> parse_head(std::string_view block, HttpHead& head);

// Whether a comma-separated list of tokens has this one, in lower or upper case.
bool has_token(std::string_view list, std::string_view lower_case_token);

}  // namespace hearth
