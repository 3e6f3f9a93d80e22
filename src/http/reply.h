// Makes the bytes of an answer's head (RFC 9112, 4 and 5), and of the chunks of its body.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "http/request.h"

namespace hearth {

// The parts of a request that a connection keeps until it has answered.
struct AnsweredRequest {
  std::string id;
  unsigned minor = 1;
  bool head_only = false;  // the request is HEAD
  HttpDialect dialect = HttpDialect::kEvents;
  bool keep_alive = false;  // the connection stays open after the answer
  HttpFields fields = {};   // further header fields of the answer
};

// DateText: the current time in the Date field's form, made once a second. For one thread.
class DateText {
 public:
  const std::string& now();

 private:
  std::time_t second_ = -1;
  std::string text_;
};

// Returns a reply's head and body. Control characters in fields become spaces.
std::string reply_bytes(const HttpReply& reply, const AnsweredRequest& answered,
                        std::string_view date);
// Returns the head of a stream of events or lines; chunked in HTTP/1.1.
std::string events_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date);
// Returns the head of a body in pieces; chunked in HTTP/1.1.
std::string pieces_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date);
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace hearth
