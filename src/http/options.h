// The addresses that an HTTP server listens at, and the limits it keeps (http/server.h). Beyond a
// limit: header_bytes and header_fields 431 (414 where the request line alone is too long),
// body_bytes 413, all_body_bytes and all_reply_bytes 503, header_seconds and body_seconds 408,
// idle_seconds and write_seconds the connection is cut. Where there are as many connections as may
// be, or as one address may have, the longest-idle one makes room for a new one
// (http/connection_table.h); where none is idle, a new one waits to be accepted, or is closed where
// its address has too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

struct HttpAddress {
  std::string host;    // a name or an address, IPv6 with or without brackets
  uint16_t port = 0;   // 0: any free one
  std::string remedy;  // where it cannot be had; empty: choose another host or port
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // as of HttpAddress
  uint16_t port = 8080;
  std::vector<HttpAddress> others = {};  // where it listens as well
  // Requests for paths that begin so are answered in the dialect kLines; empty: none are.
  std::string lines_below = {};
  uint32_t connections = 8192;  // fewer where descriptors do not suffice
  // The limit on connections of one address, or network of IPv6 (http/client_address.h); 0: a
  // quarter of all, rounded up.
  uint32_t address_connections = 0;

  uint32_t header_bytes = 16 << 10;
  uint32_t header_fields = 100;
  uint64_t body_bytes = 8 << 20;
  uint64_t all_body_bytes = 256 << 20;   // of all requests that were not yet answered, together
  uint64_t all_reply_bytes = 256 << 20;  // of all replies that were not yet written, together
  uint32_t pipeline_bytes = 16 << 10;    // read ahead of a request's answer; then reading pauses
  uint64_t write_bytes = 1 << 20;        // that a client must take while write_seconds pass

  double header_seconds = 10;   // from a request's first byte to the end of its header
  double body_seconds = 30;     // from there to the end of its body
  double idle_seconds = 75;     // without a request
  double write_seconds = 30;    // that a client lets its answer wait in all for each write_bytes
  double silence_seconds = 15;  // without an event: a comment is sent
  double linger_seconds = 2;    // after a last answer, for a client that still sends
};

}  // namespace hearth
