// The members of a body's object, without what lies in them: for who asks a body one thing and
// leaves its reading to another. Reads it once, and makes no values of most of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace hearth {

// As read_object() (server/json_fields.h) does, errors included, but for members that are arrays or
// objects: such an object is empty, and such an array has one null where it is not empty.
boost::json::object read_members(std::string_view body, uint32_t depth);

}  // namespace hearth
