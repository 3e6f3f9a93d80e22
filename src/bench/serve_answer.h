// ServedRequest: one request of a load, from when it was due to the last byte of its answer:
// tokens, times and failure. AnswerReader fills it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/serve_load.h"
#include "http/event_reader.h"
#include "http/transport.h"

namespace hearth {

// Times are of the client's clock.
struct ServedRequest {
  RequestShape asked;
  double due = 0;    // when it was to be sent
  double first = 0;  // the first event with text; the end where none had any
  double end = 0;
  double longest_gap = 0;          // between two events with text that follow each other
  uint32_t prompt_tokens = 0;      // as the server counts them
  uint32_t output_tokens = 0;      // the same, else the events with text
  bool counted_by_server = false;  // whether the server gave the numbers of tokens
  std::string failure;             // the kind; empty: none. What came before it counts for nothing
  std::string said;                // the server's message about the failure

  bool completed() const { return failure.empty(); }
  double ttft() const { return first - due; }
  double whole() const { return end - due; }
  // The time of each token after the first; 0 where there is none.
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

// Returns the message in the JSON of an error in OpenAI's form, else the beginning of what was sent
// instead. One line.
std::string error_message(std::string_view body);

}  // namespace hearth
