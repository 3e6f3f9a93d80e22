// Transport: sends many requests at once and receives their replies, over sockets
// (http/many_client.h) or a test's stand-in. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/client_request.h"

namespace hearth {

// ReplyEvent: a part of the reply to request `id`, which came at `when` seconds of the client's
// clock.
struct ReplyEvent {
  enum class Kind : uint8_t {
    kBody,    // `text` is the body's next piece
    kEnd,     // the reply is complete
    kFailed,  // the reply never ends: `failure` is the kind, `text` the details
  };
  uint64_t id = 0;
  double when = 0;
  Kind kind = Kind::kEnd;
  unsigned status = 0;     // HTTP's
  bool is_stream = false;  // the body is text/event-stream
  std::string text, failure;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Sends a request. Its reply comes from wait(), and so does a failure to send it.
  virtual void start(uint64_t id, ClientRequest request) = 0;
  // Waits until events have come or `seconds` have passed, and appends the events.
  virtual void wait(double seconds, std::vector<ReplyEvent>* events) = 0;
  // Abandons a request, whose reply is no longer wanted. Does nothing if it has ended.
  virtual void abandon(uint64_t id) = 0;
};

}  // namespace hearth
