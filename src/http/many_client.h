// Requests over libcurl: thousands at once from one thread, each with a connection of its own that
// ends with the answer, so that connecting is part of every time. A piece of an answer has the time
// at which libcurl handed it over, at once after it was read. No proxy is used. Linux (epoll).
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
  // Connects once to "http://HOST:PORT", to find the address of HOST that answers: all requests go
  // there. Lets the process have as many descriptors as it may. Errors (kResource): a host that
  // nobody knows, a port where nobody listens.
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

  // libcurl calls these: for the next bytes of a body, for a socket to watch, for the time to look
  // again.
  static size_t take_bytes(char* bytes, size_t size, size_t count, void* under_way);
  static int watch(CURL* easy, curl_socket_t socket, int what, void* client, void* data);
  static int set_timer(CURLM* multi, long milliseconds, void* client);

  void find_address(const std::string& origin);
  void act(curl_socket_t socket, int events);
  void end(UnderWay& under_way, CURLcode code);
  ReplyEvent event_of(const UnderWay& under_way) const;

  const CurlHandle kept_;  // libcurl stays started while it lives
  const std::function<double()> clock_;
  std::unique_ptr<curl_slist, FreeLines> address_;  // "HOST:PORT:ADDRESS"
  int epoll_ = -1;
  std::optional<double> timer_;  // when libcurl wants to look at its times
  std::vector<ReplyEvent> came_;
  // Requests leave it before they die.
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unordered_map<uint64_t, std::unique_ptr<UnderWay>> under_way_;
};

}  // namespace hearth
