// Verbs and options of other programs that people type here, and their equivalents.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Return the end of a sentence that begins "there is no verb 'ps'" or "there is no option -m";
// empty for an unknown word.
std::string foreign_verb(std::string_view word);
std::string foreign_option(std::string_view word);

}  // namespace hearth
