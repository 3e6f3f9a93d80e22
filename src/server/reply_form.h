// ReplyForm: writes the reply to a request for text in one API's form, as a stream of events or one
// body.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/api_error.h"
#include "server/body_source.h"
#include "server/choice_text.h"
#include "server/reply_bodies.h"

namespace hearth {

class ReplyForm {
 public:
  virtual ~ReplyForm() = default;

  // Return the events of a stream: begin() those at its beginning, part() those of a part of a
  // choice, end() those at its end, and error() those that replace the rest. `usage` of begin()
  // only has the prompt's tokens.
  virtual std::string begin(const Usage& usage, uint32_t choices) = 0;
  virtual std::string part(const ChoicePart& part) = 0;
  // Returns an event that shows progress in the prompts, before any part; empty: the API has none.
  virtual std::string progress(const PromptProgress&) { return {}; }
  virtual std::string end(const Usage& usage) = 0;
  virtual std::string error(const ApiError& error) = 0;
  // Whether this object keeps the whole stream's content in memory until the end.
  virtual bool keeps_stream() const { return false; }

  // Returns the body of a reply that is not streamed. All choices must be complete.
  virtual std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices,
                                            const Usage& usage) = 0;
};

}  // namespace hearth
