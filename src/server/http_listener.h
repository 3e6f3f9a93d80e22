// Accepts connections at one address. Where there are as many as may be, the longest-idle one is
// closed for a new one; where none is idle, or no descriptor is left, accepting pauses until a
// connection has ended or is idle.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "server/http_connection.h"

namespace hearth {

class HttpListener {
 public:
  // Binds and listens. Errors: kUsage, kResource.
  explicit HttpListener(HttpShared& shared);

  uint16_t port() const { return port_; }
  void start();
  // By the reactor's thread.
  void stop();
  void on_room() { resume_.cancel(); }

 private:
  using Tcp = boost::asio::ip::tcp;

  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> pause();
  boost::asio::awaitable<bool> make_room(const std::string& client);
  bool begin(Tcp::socket socket, const std::string& peer);

  HttpShared& shared_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer resume_;
  uint16_t port_ = 0;
};

// How many connections the process's descriptors allow, `wanted` at most. Raises the soft limit as
// far as it is needed and the hard limit lets.
size_t room_for_connections(size_t wanted);

}  // namespace hearth
