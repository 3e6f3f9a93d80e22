// Maps addresses to clients. A host with one IPv6 address mostly has the 2^64 of its /64 network,
// so these count as one client (RFC 6177, section 2). Each IPv4 address is a client, also where it
// is written as IPv6 (RFC 4291, section 2.5.5.2).
#pragma once

#include <string>

namespace hearth {

// Returns the client's name: "192.0.2.1" for itself and for "::ffff:192.0.2.1", "2001:db8:1:2::/64"
// for "2001:db8:1:2:3::4". A text that is no address is returned unchanged.
std::string client_of_address(const std::string& address);

}  // namespace hearth
