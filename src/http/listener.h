// Accepts connections at one address. Where there are as many as may be, the longest-idle one is
// closed for a new one; where none is idle, or no descriptor is left, accepting pauses until a
// connection has ended or is idle. To wait for the next one needs no memory; who comes while there
// is none for a connection finds it closed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "http/connection.h"

namespace hearth {

class HttpListener {
 public:
  // Binds and listens. Errors: kUsage, kResource.
  HttpListener(HttpShared& shared, const HttpAddress& address);

  uint16_t port() const { return port_; }
  void start() { wait(); }
  // The reactor's thread calls these.
  void stop();
  void on_room() { resume_.cancel(); }

 private:
  using Tcp = boost::asio::ip::tcp;

  // A connection that was accepted and has no place yet.
  struct Newcomer {
    Tcp::socket socket;
    std::string address;
  };

  void wait();
  void pause();
  void on_ready();
  bool accept();
  bool let_in();

  HttpShared& shared_;
  WakeSlot& accepting_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer resume_;
  std::optional<Newcomer> newcomer_;
  uint16_t port_ = 0;
};

// How many connections the process's descriptors allow, `wanted` at most. Raises the soft limit as
// far as it is needed and the hard limit lets.
size_t room_for_connections(size_t wanted);

}  // namespace hearth
