// ReplyForm: how the reply to a request for text is written, in the shapes of one API. A reply is a
// stream of events, or one body.
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

  // The events of a stream: those at its beginning, those of a piece of a choice, those at its end,
  // and, in place of the rest, those that tell of an error. `usage` of begin() has the prompt.
  virtual std::string begin(const Usage& usage, uint32_t choices) = 0;
  virtual std::string part(const ChoicePart& part) = 0;
  // How far the prompts are, before the first piece; empty: the API has no words for it.
  virtual std::string progress(const PromptProgress&) { return {}; }
  virtual std::string end(const Usage& usage) = 0;
  virtual std::string error(const ApiError& error) = 0;
  // Whether it keeps all that a stream says until its end.
  virtual bool keeps_stream() const { return false; }

  // A body that is not streamed, of choices that are whole.
  virtual std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices,
                                            const Usage& usage) = 0;
};

}  // namespace hearth
