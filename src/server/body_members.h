// Reads the members of a body's JSON object in one pass, without the contents of arrays and
// objects, for callers that need one field before the route's reader reads the whole body.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace hearth {

// Reads an object as read_object() (server/json_fields.h) does and throws the same errors, but
// drops the contents of its members: an object becomes {}, an array that is not empty becomes
// [null].
boost::json::object read_members(std::string_view body, uint32_t depth);

}  // namespace hearth
