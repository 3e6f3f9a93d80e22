// HttpClient asks a server one thing after the other and waits for each reply. It keeps its
// connection open between requests. Certificates of https are checked. A proxy that the environment
// names is used but for this machine's own addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "http/curl_handle.h"

namespace hearth {

struct ClientOptions {
  double timeout = 30;         // seconds for one reply
  double connect_timeout = 5;  // seconds of them
};

struct ClientReply {
  unsigned status = 0;
  std::string body;
};

class HttpClient {
 public:
  // A request ends soon, within a second or so, once `abandoned` is set; it outlives the client.
  HttpClient(const ClientOptions& options, std::atomic<bool>& abandoned)
      : options_(options), abandoned_(abandoned) {}

  // Errors (kResource): no reply, none in time, one whose body is longer than `most` bytes.
  ClientReply ask(const ClientRequest& request, uint64_t most);

 private:
  const ClientOptions options_;
  std::atomic<bool>& abandoned_;
  CurlHandle handle_;
};

}  // namespace hearth
