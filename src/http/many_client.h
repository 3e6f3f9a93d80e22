// ManyClient: thousands of requests at once over libcurl, from one thread. Each request has its own
// connection, which ends with the reply, so every time includes connecting. Each piece of a reply
// has the time at which libcurl delivered it, right after reading it. No proxy is used. Linux only
// (epoll).
//
// Kinds of failure: "connect", "cut short" (the connection ended before the reply), "malformed" (no
// HTTP).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "http/curl_handle.h"
#include "http/transport.h"

namespace hearth {

class ManyClient final : public Transport {
 public:
  // Connects once to "http://HOST:PORT" to find an address of HOST that answers; all requests go to
  // that one. Raises the process's limit on descriptors to its hard limit. Throws Error (kResource)
  // where the host is unknown or nothing listens at the port.
  ManyClient(const std::string& origin, std::function<double()> clock);
  ~ManyClient() override;
  ManyClient(const ManyClient&) = delete;
  ManyClient& operator=(const ManyClient&) = delete;

  void start(uint64_t id, ClientRequest request) override;
  void wait(double seconds, std::vector<ReplyEvent>* events) override;
  void abandon(uint64_t id) override;

 private:
  struct UnderWay {
    ManyClient& client;
    uint64_t id;
    ClientRequest request;
    CurlHandle handle = {};
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct FreeLines {
    void operator()(curl_slist* lines) const { curl_slist_free_all(lines); }
  };

  // libcurl's callbacks: a body's next bytes; a socket to watch; when to call libcurl again.
  static size_t take_bytes(char* bytes, size_t size, size_t count, void* under_way);
  static int watch(CURL* easy, curl_socket_t socket, int what, void* client, void* data);
  static int set_timer(CURLM* multi, long milliseconds, void* client);

  void find_address(const std::string& origin);
  void act(curl_socket_t socket, int events);
  void end(UnderWay& under_way, CURLcode code);
  ReplyEvent event_of(const UnderWay& under_way) const;

  const CurlHandle kept_;  // keeps libcurl initialised
  const std::function<double()> clock_;
  std::unique_ptr<curl_slist, FreeLines> address_;  // "HOST:PORT:ADDRESS"
  int epoll_ = -1;
  std::optional<double> timer_;  // when libcurl wants to be called
  std::vector<ReplyEvent> came_;
  // Declared before `under_way_` to outlive the requests, which are removed from it first.
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unordered_map<uint64_t, std::unique_ptr<UnderWay>> under_way_;
};

}  // namespace hearth
