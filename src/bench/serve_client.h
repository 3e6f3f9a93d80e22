// Requests over sockets: thousands at once from one thread, each with a connection of its own that
// ends with the answer, so that connecting is part of every time. Linux (epoll).
//
// Kinds of failure: "connect", "cut short" (the connection ended before the reply), "malformed" (no
// HTTP).
// Errors (kResource): a host that nobody knows, a port where nobody listens.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/serve_http.h"
#include "bench/serve_transport.h"

namespace hearth {

class ServeClient final : public ServeTransport {
 public:
  // Connects once, to find the address that answers. Lets the process have as many descriptors as
  // it may.
  ServeClient(const ServeUrl& url, std::function<double()> clock);
  ~ServeClient() override;
  ServeClient(const ServeClient&) = delete;
  ServeClient& operator=(const ServeClient&) = delete;

  void start(uint64_t id, std::string request) override;
  void wait(double seconds, std::vector<ServeEvent>* events) override;
  void abandon(uint64_t id) override;

 private:
  struct Connection {
    int fd = -1;
    std::string unsent;
    size_t sent = 0;
    bool connected = false;
    HttpReplyReader reply;
  };

  void find_address(const ServeUrl& url);
  // Returns a socket under way, or -1 with errno.
  int connect_socket() const;
  void watch(uint64_t id, int fd, bool writing, int operation) const;
  // Each returns whether the connection goes on; where it does not, its last event is there.
  bool write_some(uint64_t id, Connection& connection, std::vector<ServeEvent>* events);
  bool read_some(uint64_t id, Connection& connection, std::vector<ServeEvent>* events);
  void serve(uint64_t id, uint32_t what, std::vector<ServeEvent>* events);
  ServeEvent failure(uint64_t id, std::string kind, std::string text) const;

  std::function<double()> clock_;
  sockaddr_storage address_{};
  socklen_t address_size_ = 0;
  int epoll_ = -1;
  std::unordered_map<uint64_t, Connection> connections_;
  std::vector<ServeEvent> early_;  // of start()
  std::string buffer_;
};

// Asks the server for its models; returns the first one's name. Errors (kResource): it does not
// tell.
std::string ask_model(ServeTransport& transport, const ServeUrl& url, const std::string& key,
                      const std::function<double()>& clock);

}  // namespace hearth
