// HttpListener accepts connections at one address. At the limit the longest-idle connection is
// closed for a new one. Where none is idle, or no descriptor is free, accepting pauses until a
// connection ends or becomes idle. Waiting for a connection needs no memory; one that comes while
// there is no memory for it is closed.
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
  // Binds and listens. Throws Error: kUsage where the host has no address, kResource where the port
  // cannot be had.
  HttpListener(HttpShared& shared, const HttpAddress& address);

  uint16_t port() const { return port_; }
  void start() { wait(); }
  // Called by the reactor's thread.
  void stop();
  void on_room() { resume_.cancel(); }

 private:
  using Tcp = boost::asio::ip::tcp;

  // An accepted connection without a place in the table yet.
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

// Returns how many connections the process's limit on descriptors allows, at most `wanted`. Raises
// the soft limit as far as needed and the hard limit allows.
size_t room_for_connections(size_t wanted);

}  // namespace hearth
