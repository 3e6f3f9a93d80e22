// Guard decides from a request's head alone whether it is allowed: by its key, the server's name in
// Host, and the origin of the web page that sends it.
//
// Keys are compared in a time that does not depend on where they differ. The name in Host must be
// one of the server's own, or an IP address: a stranger's page whose name was made to resolve to
// this server (DNS rebinding) still sends its own name.
//
// A browser lets any page send requests to this server, with the page's origin (RFC 6454). A
// request with a right key may come from any page, as no stranger's page knows one. Any other must
// come from this server's own pages or from an allowed origin. Only allowed origins get the fields
// with which a browser lets a page read the answer (CORS, https://fetch.spec.whatwg.org).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/request.h"

namespace hearth {

class Guard {
 public:
  // `keys` empty: requests need none. `names`: names without port that Host may give besides
  // localhost, IP addresses and `listens_at`; pages at these names are the server's own, at any
  // port. `origins`: allowed ones, as of origin_option().
  Guard(std::vector<std::string> keys, std::vector<std::string> names,
        std::string_view listens_at = "", std::vector<std::string> origins = {});

  void set_keys(std::vector<std::string> keys) { keys_ = std::move(keys); }
  bool needs_key() const { return !keys_.empty(); }
  // Whether the request has one of the keys: "Authorization: Bearer KEY" or "X-Api-Key: KEY". True
  // where none is needed.
  bool knows_key(const HttpRequest& request) const;
  // Returns the client's name, by which shares of the server are counted: the number of its key,
  // where keys are needed and it has one; else the name that the request has already.
  std::string client_of(const HttpRequest& request) const;
  bool knows_host(const HttpRequest& request) const;
  // Whether the request comes from a web page that is not the server's own, has no allowed origin,
  // and brings no key.
  bool from_elsewhere(const HttpRequest& request) const;

  // Returns the CORS fields for any answer to the request; none where no origin is allowed.
  HttpFields cors_fields(const HttpRequest& request) const;
  // Returns the answer to a browser's preflight request (may this page send that request?) from an
  // allowed origin; nothing for other requests. cors_fields() must be added.
  std::optional<HttpReply> preflight(const HttpRequest& request) const;

 private:
  // Returns the number of the key, from 1 on; 0: no known key.
  size_t number_of(std::string_view key) const;
  size_t number_of_key(const HttpRequest& request) const;
  bool allows(std::string_view origin) const;
  bool own_page(std::string_view origin, const HttpRequest& request) const;

  std::vector<std::string> keys_;
  std::vector<std::string> names_;
  std::string listens_at_;
  std::vector<std::string> origins_;
};

// Reads keys from a file, one a line; empty lines and those that begin with # are skipped. Throws
// (kFile) where the file cannot be read, holds no key, or has a key with a space or a control
// character.
std::vector<std::string> read_keys(const std::string& path);

// Returns a Host without its port, in lower case: "localhost" of "localhost:8080", "[::1]" of
// "[::1]:8080".
std::string host_name(std::string_view host);
// Whether the name is an IPv4 address or, in brackets, an IPv6 address.
bool is_address(std::string_view name);
// Whether the host is loopback: localhost, 127.x.y.z or ::1.
bool is_loopback(std::string_view host);

}  // namespace hearth
