// Writes and reads `encrypted_content`, in which a client of OpenAI's Responses API carries
// reasoning from turn to turn. It is not encrypted here, as the client has the text anyway:
// "hearth1." and the text in base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

std::string carried_reasoning(std::string_view text);
// Returns the text; nothing where `carried` is another server's or damaged.
std::optional<std::string> read_carried_reasoning(std::string_view carried);

}  // namespace hearth
