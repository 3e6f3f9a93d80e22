// Reads the conversation of a body of POST /v1/messages as the messages of a chat completion.
//
// Messages that a client sends again are read to the same bytes, so that their KV pages are found
// again: a string and a block with the same text are alike, `cache_control`, signatures and other
// members that a model does not see are left out, and a message is read the same wherever the
// conversation ends.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <vector>

namespace hearth {

struct MessagesHistory {
  boost::json::array messages;  // in the form of OpenAI's API
  // The origin of each message: the index, in the body's `messages`, of the first one that it was
  // made from; kFromSystem for a message made from `system`.
  std::vector<size_t> from;
  bool goes_on = false;  // the last message begins the answer

  static constexpr size_t kFromSystem = static_cast<size_t>(-1);
};

// Reads the fields `system` and `messages` (required, 1 to `most` of them):
//
// - Texts of `system` are joined by newlines. Claude Code's billing line, the first of them, is
//   left out, as it differs from request to request.
// - Texts of a message are joined by newlines, and so are consecutive messages of one role. A
//   message of the role `system` after others becomes the user's.
// - `tool_result` becomes a message of the role `tool`, before its message's text; an error is read
//   as its text.
// - `tool_use` becomes a call with the JSON text of its input, `thinking` becomes
//   reasoning_content.
//
// Throws RequestError by path ("messages[3].content[0].type"), also for blocks of other types, such
// as images and documents.
MessagesHistory read_messages_history(const boost::json::object& body, size_t most);

}  // namespace hearth
