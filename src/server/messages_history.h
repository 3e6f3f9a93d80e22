// The conversation of a body of POST /v1/messages, as the messages of a chat completion.
//
// What is sent again in another form has the same bytes again, so that a prompt's beginning is
// found where it was computed: a string and a block with that text are one, `cache_control`,
// signatures and other members that say nothing to a model are left out, and a message says the
// same wherever the conversation ends.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <vector>

namespace hearth {

struct MessagesHistory {
  boost::json::array messages;  // in the form of OpenAI's API
  // The index in the body's `messages` of the one that each message comes from or begins with;
  // kFromSystem where it comes from `system`.
  std::vector<size_t> from;
  bool goes_on = false;  // the last one is the beginning of the answer

  static constexpr size_t kFromSystem = static_cast<size_t>(-1);
};

// Reads the fields `system` and `messages` (required, 1 to `most` of them):
//
// - Texts of `system` are joined by newlines; what Claude Code bills by, the first of them, is left
//   out: it differs from request to request.
// - Texts of a message are joined by newlines, and so are messages of one role that follow each
//   other. One of the role `system` is the user's where it stands behind others.
// - `tool_result` becomes a message of the role `tool`, before the text of its message; an error
//   is told by its text.
// - `tool_use` becomes a call with the JSON text of its input, `thinking` reasoning_content.
//
// Throws RequestError by path ("messages[3].content[0].type"), also where there are blocks of other
// types: images, documents.
MessagesHistory read_messages_history(const boost::json::object& body, size_t most);

}  // namespace hearth
