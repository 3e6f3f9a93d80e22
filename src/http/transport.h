// The place that many requests go to at once, and their replies come from: sockets
// (http/many_client.h), or whatever a test puts there. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/client_request.h"

namespace hearth {

// A part of the answer to request `id`, which came at `when` seconds of the client's clock.
struct ReplyEvent {
  enum class Kind : uint8_t {
    kBody,    // `text` is the next piece of the body
    kEnd,     // it was the last one
    kFailed,  // there will be none: `failure` is the kind of failure, `text` says more
  };
  uint64_t id = 0;
  double when = 0;
  Kind kind = Kind::kEnd;
  unsigned status = 0;     // of HTTP
  bool is_stream = false;  // whether the body is text/event-stream
  std::string text, failure;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Sends a request; its answer comes from wait(), a failure to send too.
  virtual void start(uint64_t id, ClientRequest request) = 0;
  // Waits until something came or `seconds` have passed; appends what came.
  virtual void wait(double seconds, std::vector<ReplyEvent>* events) = 0;
  // Abandons a request whose answer nobody wants any more. Does nothing where that has ended.
  virtual void abandon(uint64_t id) = 0;
};

}  // namespace hearth
