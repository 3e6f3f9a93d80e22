// Words of other programs that people type here, and what to type instead.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// A sentence that begins behind "there is no verb 'ps'" or "there is no option -m"; empty where the
// word is nobody's.
std::string foreign_verb(std::string_view word);
std::string foreign_option(std::string_view word);

}  // namespace hearth
