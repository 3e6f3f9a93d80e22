// Reads calls whose values are known in what a template wrote of them, to find out how it writes
// them and to prove it.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "chat/turn_format.h"
#include "chat/turn_probes.h"

namespace hearth {

// Bytes of the JSON object or array that the text begins with, told by its brackets; 0: none.
size_t json_text_bytes(std::string_view text);

// Whether the text is JSON of this value.
bool is_json_of(std::string_view text, const boost::json::value& value);

// Whether a turn is these calls in this form and nothing else, up to white space between its parts.
// `open`: it may lack what ends the section.
bool is_written_so(const CallFormat& form, const std::vector<ProbeCall>& calls,
                   std::string_view turn, bool open = false);

}  // namespace hearth
