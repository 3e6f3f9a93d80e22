// Finds the form of calls in a rendered turn of one or two calls whose names and values are known.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "chat/turn_format.h"
#include "chat/turn_probes.h"

namespace hearth {

struct CallSpot {
  size_t name = 0, name_end = 0;  // byte offsets in the text
  size_t begin = 0, end = 0;      // the arguments, including the last value's quote
  ArgumentForm form = ArgumentForm::kJson;
  // The text after the first key, and the text between the first value and the second key, where
  // arguments have keys of their own.
  std::string_view behind_key, between_members;
};

// Finds the first call at or after `from` that has this name and two texts as arguments; null where
// its name or arguments are not found.
std::optional<CallSpot> find_call(std::string_view text, size_t from, const ProbeCall& call);

// Finds the form of calls. `turn`: the turn's text, which begins with the calls. `before`: the text
// before the first name where content comes first, or empty. Null where the parts cannot be told
// apart.
std::optional<CallFormat> form_of_calls(std::string_view turn, const std::vector<ProbeCall>& calls,
                                        std::string_view before);

}  // namespace hearth
