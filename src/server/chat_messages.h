// The messages of a chat as a client sent them, and as a chat template takes them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>

namespace hearth {

// Reads the field `messages` of a body (required, 1 to `most` of them). Each becomes an object with
// `role` and `content` first: `developer` is `system`, the texts of parts are joined by newlines.
// Other members stay as they are, without null ones. Throws RequestError, also where a message
// has tools, images, audio or files.
boost::json::array read_messages(const boost::json::object& body, size_t most);

}  // namespace hearth
