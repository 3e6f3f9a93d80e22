// Guard decides who may ask what, from a request's head alone: the keys, the names that this server
// answers to, and the origins of web pages.
//
// Keys are compared in a time that does not depend on where they differ. The name in Host must be
// one of the server's own, or an IP address: a page of a stranger's, whose name was made to lead
// here (DNS rebinding), still sends its own.
//
// A browser lets any page ask this server, and tells the page's origin (RFC 6454). A request that
// brings a right key may come from any page: no stranger's page knows one. Any other one must come
// from this server's own pages, or from an origin that was allowed. Only allowed origins get the
// fields with which a browser lets a page read what it asked for (CORS,
// https://fetch.spec.whatwg.org).
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
  // `keys` empty: nobody needs one. `names`: those that Host may give besides localhost, addresses
  // and `listens_at`, without a port; pages at these names, at whatever port, are the server's own.
  // `origins`: as of origin_option().
  Guard(std::vector<std::string> keys, std::vector<std::string> names,
        std::string_view listens_at = "", std::vector<std::string> origins = {});

  void set_keys(std::vector<std::string> keys) { keys_ = std::move(keys); }
  bool needs_key() const { return !keys_.empty(); }
  // Whether the request brings one of the keys: "Authorization: Bearer KEY" or "X-Api-Key: KEY".
  // True where none is needed.
  bool knows_key(const HttpRequest& request) const;
  // Returns the name by which a client shares the server with others: the number of its key where
  // keys are needed and the request brings one, else the name it had before.
  std::string client_of(const HttpRequest& request) const;
  bool knows_host(const HttpRequest& request) const;
  // Whether it comes from a page that is not the server's own and whose origin is not allowed, and
  // brings no key.
  bool from_elsewhere(const HttpRequest& request) const;

  // The fields for CORS that an answer to the request bears, whatever it says; none where no origin
  // is allowed.
  HttpFields cors_fields(const HttpRequest& request) const;
  // The answer to a browser that asks whether a page may send a request (a preflight), where the
  // page's origin is allowed; cors_fields() come with it.
  std::optional<HttpReply> preflight(const HttpRequest& request) const;

 private:
  // The number of the key, from 1 on; 0: it is none of them.
  size_t number_of(std::string_view key) const;
  size_t number_of_key(const HttpRequest& request) const;
  bool allows(std::string_view origin) const;
  bool own_page(std::string_view origin, const HttpRequest& request) const;

  std::vector<std::string> keys_;
  std::vector<std::string> names_;
  std::string listens_at_;
  std::vector<std::string> origins_;
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
