// Resolves the URI references of a schema's "$id" and "$ref" (RFC 3986), and reads their fragments.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Resolves `reference` against the document's address `base` (section 5.2), without a fragment.
// Either may be empty.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Returns the fragment, decoded; empty where there is none.
std::string uri_fragment(std::string_view reference);

}  // namespace hearth
