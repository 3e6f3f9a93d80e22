// Tells clients apart by their addresses: who has one IPv6 address mostly has the 2^64 of its
// network, so these count as one client (RFC 6177, section 2). An IPv4 address is a client, also
// where it is written as IPv6 (RFC 4291, section 2.5.5.2).
#pragma once

#include <string>

namespace hearth {

// "192.0.2.1" for itself and for "::ffff:192.0.2.1", "2001:db8:1:2::/64" for "2001:db8:1:2:3::4";
// what is no address stays as it is.
std::string client_of_address(const std::string& address);

}  // namespace hearth
