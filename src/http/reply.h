// The bytes of an answer's head (RFC 9112, 4 and 5), and of chunks of its body.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "http/request.h"

namespace hearth {

// The facts that a connection keeps of the request which it answers.
struct AnsweredRequest {
  std::string id;
  unsigned minor = 1;
  bool head_only = false;  // HEAD
  HttpDialect dialect = HttpDialect::kEvents;
  bool keep_alive = false;  // the connection goes on behind the answer
  HttpFields fields = {};   // that the answer bears besides its own
};

// The time as the Date field has it, made once a second. By one thread.
class DateText {
 public:
  const std::string& now();

 private:
  std::time_t second_ = -1;
  std::string text_;
};

// Head and body. Control characters in fields become spaces.
std::string reply_bytes(const HttpReply& reply, const AnsweredRequest& answered,
                        std::string_view date);
// The head of an event stream, or of one of lines: chunked in HTTP/1.1.
std::string events_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date);
// The head of a body in pieces: likewise.
std::string pieces_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date);
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace hearth
