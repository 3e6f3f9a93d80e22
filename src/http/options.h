// The addresses that an HTTP server listens at, and its limits (http/server.h).
//
// A request over header_bytes or header_fields gets 431 (414 where the request line alone is too
// long), over body_bytes 413, over all_body_bytes or all_reply_bytes 503, over header_seconds or
// body_seconds 408; over idle_seconds or write_seconds the connection is closed. At the limit on
// all connections, or on those of one address, the longest-idle one is closed for a new one
// (http/connection_table.h). Where none is idle a new one waits to be accepted, or is closed if its
// address has too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

struct HttpAddress {
  std::string host;    // a name or an address, IPv6 with or without brackets
  uint16_t port = 0;   // 0: any free port
  std::string remedy;  // advice for the error; empty: "choose another host or port"
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // in HttpAddress's form
  uint16_t port = 8080;
  std::vector<HttpAddress> others = {};  // further addresses to listen at
  // Paths with this prefix are answered in the dialect kLines; empty: none.
  std::string lines_below = {};
  uint32_t connections = 8192;  // fewer where descriptors do not suffice
  // The limit on connections of one IPv4 address or IPv6 network (http/client_address.h); 0: a
  // quarter of all, rounded up.
  uint32_t address_connections = 0;

  uint32_t header_bytes = 16 << 10;
  uint32_t header_fields = 100;
  uint64_t body_bytes = 8 << 20;
  uint64_t all_body_bytes = 256 << 20;   // the most for all unanswered requests together
  uint64_t all_reply_bytes = 256 << 20;  // the most for all unwritten replies together
  uint32_t pipeline_bytes = 16 << 10;    // read ahead during an answer; then reading pauses
  uint64_t write_bytes = 1 << 20;        // bytes that a client must take in write_seconds

  double header_seconds = 10;   // from a request's first byte to its header's end
  double body_seconds = 30;     // from the header's end to the body's end
  double idle_seconds = 75;     // how long a connection may be open without a request
  double write_seconds = 30;    // in which an answer may wait for the client, for each write_bytes
  double silence_seconds = 15;  // after so long without an event a comment is sent
  double linger_seconds = 2;    // how long the client may take to close after a last answer
};

}  // namespace hearth
