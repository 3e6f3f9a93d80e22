// Reads rendered calls whose values are known, to find the form in which a template writes them and
// to prove it.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "chat/turn_format.h"
#include "chat/turn_probes.h"

namespace hearth {

// Returns the length of the JSON object or array that the text begins with, found by its brackets;
// 0 where there is none.
size_t json_text_bytes(std::string_view text);

// Whether the text is JSON of this value.
bool is_json_of(std::string_view text, const boost::json::value& value);

// Whether a rendered turn consists of these calls in this form, apart from white space between the
// parts. `open`: the end of the section may be missing.
bool is_written_so(const CallFormat& form, const std::vector<ProbeCall>& calls,
                   std::string_view turn, bool open = false);

}  // namespace hearth
