// HttpClient sends one request at a time and waits for the reply. Its connection stays open between
// requests. Certificates of https are checked. A proxy from the environment is used, except for
// this machine's own addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "http/curl_handle.h"

namespace hearth {

struct ClientOptions {
  double timeout = 30;         // seconds for one reply
  double connect_timeout = 5;  // seconds of these for connecting
};

struct ClientReply {
  unsigned status = 0;
  std::string body;
};

class HttpClient {
 public:
  // A request ends within about a second once `abandoned` is set. `abandoned` outlives the client.
  HttpClient(const ClientOptions& options, std::atomic<bool>& abandoned)
      : options_(options), abandoned_(abandoned) {}

  // Sends a request and returns the reply. Throws Error (kResource) where there is no reply, none
  // in time, or one whose body is longer than `most` bytes.
  ClientReply ask(const ClientRequest& request, uint64_t most);

 private:
  const ClientOptions options_;
  std::atomic<bool>& abandoned_;
  CurlHandle handle_;
};

}  // namespace hearth
