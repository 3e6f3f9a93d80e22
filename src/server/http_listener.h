// Accepts connections at one address. Where there are as many as may be, or no descriptor is left,
// accepting pauses until a connection has ended.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>

#include "server/http_connection.h"

namespace hearth {

class HttpListener {
 public:
  // Binds and listens. Errors: kUsage, kResource.
  HttpListener(HttpShared& shared, size_t most_connections);

  uint16_t port() const { return port_; }
  void start();
  // By the reactor's thread.
  void stop();
  void on_closed() { resume_.cancel(); }

 private:
  using Tcp = boost::asio::ip::tcp;

  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> pause();
  bool begin(Tcp::socket socket, const Tcp::endpoint& peer);

  HttpShared& shared_;
  size_t most_connections_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer resume_;
  uint16_t port_ = 0;
};

// How many connections the process's descriptors allow, `wanted` at most. Raises the soft limit as
// far as it is needed and the hard limit lets.
size_t room_for_connections(size_t wanted);

}  // namespace hearth
