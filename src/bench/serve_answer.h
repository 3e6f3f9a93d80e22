// ServedRequest: one request of a load, from the moment it was due to the last byte of its answer,
// with its tokens, times and failure. AnswerReader fills it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/serve_load.h"
#include "http/event_reader.h"
#include "http/transport.h"

namespace hearth {

// Times are in seconds of the client's clock.
struct ServedRequest {
  RequestShape asked;
  double due = 0;    // when it should have been sent
  double first = 0;  // the first event with text; the end where none had any
  double end = 0;
  double longest_gap = 0;          // the longest time between two successive events with text
  uint32_t prompt_tokens = 0;      // as the server counts them
  uint32_t output_tokens = 0;      // as the server counts them, else the number of events with text
  bool counted_by_server = false;  // whether the server gave the numbers of tokens
  std::string failure;             // the kind; empty: none. A failed answer's text does not count
  std::string said;                // the server's message about the failure

  bool completed() const { return failure.empty(); }
  double ttft() const { return first - due; }
  double whole() const { return end - due; }
  // Returns the seconds of each token after the first; 0 where there is none.
  double tpot() const { return output_tokens > 1 ? (end - first) / (output_tokens - 1) : 0; }
};

class AnswerReader {
 public:
  AnswerReader(const RequestShape& asked, double due);

  void take(const ReplyEvent& event);
  // Ends the answer with this error.
  void fail(std::string kind, std::string_view said, double when);

  bool ended() const { return ended_; }
  const ServedRequest& request() const { return request_; }

 private:
  void take_data(const std::string& data, double when);
  void take_text(double when);
  void end(const ReplyEvent& event);

  ServedRequest request_;
  EventReader events_;
  std::string body_;  // the body of a reply that is no stream
  double last_text_ = 0;
  uint32_t texts_ = 0;
  bool done_ = false, ended_ = false;
};

// Returns, as one line, the message of an error in OpenAI's form. Where there is none, returns the
// beginning of the body.
std::string error_message(std::string_view body);

}  // namespace hearth
