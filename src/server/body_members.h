// The members of a body's object, without what lies in them: for who asks a body one thing and
// leaves its reading to another. Reads it once, and makes no values of most of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace hearth {

// Reads an object as read_object() (server/json_fields.h) does, with the same errors, but drops
// what its members hold: an object becomes an empty one, an array that is not empty becomes one
// null.
boost::json::object read_members(std::string_view body, uint32_t depth);

}  // namespace hearth
