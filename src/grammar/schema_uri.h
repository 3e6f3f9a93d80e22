// URIs as a schema's "$id" and "$ref" use them (RFC 3986): one seen from another, and the parts
// behind '#'.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Returns what `reference` names where the document's address is `base` (section 5.2), without a
// fragment. Either may be empty.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Returns what stands behind the '#', decoded; empty where there is none.
std::string uri_fragment(std::string_view reference);

}  // namespace hearth
