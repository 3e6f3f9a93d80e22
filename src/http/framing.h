// The head of a request: from bytes to fields, and how long its body is. Boost.Beast parses; what
// Beast lets through and another server on the way might read otherwise is refused here:
//   - line ends but CRLF, control characters, folded lines (the reader of bytes sees to these)
//   - several Content-Length or Transfer-Encoding fields, or both, a list in either; a coding but
//     `chunked` (501); a coding in HTTP/1.0
//   - no Host in HTTP/1.1, two, or one that is no host and port
//   - targets that are no path, with or without http://HOST before it: fragments, bytes that
//     RFC 3986 wants escaped, escapes that are none, %00; methods that are no upper-case letters
//   - versions but 1.0 and 1.1 (505); expectations but 100-continue (417)
//   - bodies that are compressed (415)
// A host in the target takes the place of the one in Host (RFC 9112, 3.2.2).
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
  bool keep_alive = true;  // as the client wants it

  bool has_body() const { return chunked || content_length > 0; }
};

ApiError http_error(unsigned status, std::string_view code, std::string_view message);

// `block` ends with an empty line. Nothing where `head` is one; else what to answer.
std::optional<ApiError> parse_head(std::string_view block, HttpHead& head);

// Whether a comma-separated list of tokens has that one, in any case.
bool has_token(std::string_view list, std::string_view lower_case_token);

}  // namespace hearth
