// Reasoning as a client of OpenAI's Responses API carries it from turn to turn, in the member
// `encrypted_content`. It is no secret, since the same client gets the text, too: "hearth1." and
// base64 of the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

std::string carried_reasoning(std::string_view text);
// The text; nothing where another server wrote `carried` or it is damaged.
std::optional<std::string> read_carried_reasoning(std::string_view carried);

}  // namespace hearth
