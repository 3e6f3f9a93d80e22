// Finds the form of calls in a turn of one or two calls whose names and values are known.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "chat/turn_format.h"
#include "chat/turn_probes.h"

namespace hearth {

struct CallSpot {
  size_t name = 0, name_end = 0;  // bytes of the text
  size_t begin = 0, end = 0;      // the arguments, with what quotes the last value
  ArgumentForm form = ArgumentForm::kJson;
  // Texts around arguments with keys of their own: behind the first key, and between the first
  // value and the second key.
  std::string_view behind_key, between_members;
};

// The first call with this name and two texts for arguments at or behind `from`; null where the
// name or the arguments cannot be found.
std::optional<CallSpot> find_call(std::string_view text, size_t from, const ProbeCall& call);

// `turn`: what the calls stand in, nothing else in front. `before`: what stands before the first
// name where content is in front, or empty. Null where the parts cannot be told apart.
std::optional<CallFormat> form_of_calls(std::string_view turn, const std::vector<ProbeCall>& calls,
                                        std::string_view before);

}  // namespace hearth
