// Guard decides who may ask what, from a request's head alone: the keys, and the names that this
// server answers to.
//
// Keys are compared in a time that does not depend on where they differ. The name in Host must be
// one of the server's own, or an IP address: a page of a stranger's, whose name was made to lead
// here (DNS rebinding), still sends its own. A page of another origin is refused for the same
// reason, whatever its request would need to be allowed by CORS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http_request.h"

namespace hearth {

class Guard {
 public:
  // `keys` empty: nobody needs one. `names`: those that Host may give besides localhost and
  // addresses, without a port.
  Guard(std::vector<std::string> keys, std::vector<std::string> names);

  bool needs_key() const { return !keys_.empty(); }
  // Whether the request brings one of the keys: "Authorization: Bearer KEY" or "X-Api-Key: KEY".
  // True where none is needed.
  bool knows_key(const HttpRequest& request) const;
  bool knows_host(const HttpRequest& request) const;
  // Whether it comes from a page of another origin, as the browser tells.
  static bool from_elsewhere(const HttpRequest& request);

 private:
  bool knows(std::string_view key) const;

  std::vector<std::string> keys_;
  std::vector<std::string> names_;
};

// The keys in a file: one a line; empty lines and those that begin with # are none. Throws (kFile)
// where it cannot be read, holds none, or has a key with a space or a control character.
std::vector<std::string> read_keys(const std::string& path);

// "localhost:8080" and "[::1]:8080" without their ports, in lower case.
std::string host_name(std::string_view host);
// Whether the name is an IPv4 or (in brackets) an IPv6 address.
bool is_address(std::string_view name);
// Whether only this machine can reach the host: localhost, 127.x.y.z, ::1.
bool is_loopback(std::string_view host);

}  // namespace hearth
