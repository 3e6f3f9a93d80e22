// HTTP/1.1 and 1.0 (RFC 9110, 9112), on one thread: the reactor. Every connection always has a read
// pending, so a client that leaves is seen soon, also while its answer is computed or written. One
// that only sends no more (half of its connection is closed) gets its answers; connection.h
// says how the two are told apart. Requests of one connection are answered in order; what is
// malformed, ambiguous or beyond a limit gets an answer in the form of api_error.h, and then the
// connection ends. Framing is stricter than RFC 9112 asks for: see framing.h.
//
// Descriptors: the process's soft limit is raised as far as the connections need it and the hard
// limit lets; where that does not suffice, there are fewer connections.
//
// No address has more than its part of the connections, and the one that has been without a request
// the longest makes room for a new one (http/connection_table.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "http/api_error.h"
#include "http/exchange.h"
#include "http/options.h"
#include "http/request.h"

namespace hearth {

// Looks at a request before its body is read, which is empty: 401, 403, 404, 405, 503. Nothing: go
// on. It may say who asks, `head.client`, which is the address (client_address.h) before. By the
// reactor's thread; must be quick.
using HttpCheck = std::function<std::optional<HttpReply>(HttpRequest& head)>;
// The reactor's thread calls this, so it must be quick. An exception that it throws is answered by
// 500.
using HttpHandler = std::function<void(std::shared_ptr<Exchange>)>;

// Hears of a request that is refused for its form or a limit; what could not be read of it is
// empty. By the reactor's thread.
using HttpRefused = std::function<void(const HttpRequest& head, const ApiError& error)>;

// The fields that every answer to the request bears, also those that the server itself makes. By
// the reactor's thread.
using HttpReplyFields = std::function<HttpFields(const HttpRequest& head)>;
// Is told what a call on the reactor threw that no request was told of. It throws nothing.
using HttpTrouble = std::function<void(const std::exception&)>;

class HttpServer {
 public:
  // Binds and listens. Errors: kUsage where there is no such host, kResource where its port cannot
  // be had.
  HttpServer(
      const HttpOptions& options, HttpCheck check, HttpHandler handler,
      HttpRefused refused = [](const HttpRequest&, const ApiError&) {},
      HttpReplyFields reply_fields = [](const HttpRequest&) { return HttpFields(); },
      HttpTrouble trouble = [](const std::exception&) {});
  ~HttpServer();  // not while run() is under way
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the port of options.host, or that of the address `number` - 1 of options.others.
  uint16_t port(size_t number = 0) const;
  // Returns the most connections that are accepted: options.connections, or what descriptors allow.
  size_t connection_limit() const;

  // The reactor; returns after stop(). What is thrown on it, as where memory is short, ends the
  // call that threw and nothing else.
  void run();
  // Any thread may call the following; post() and after() may throw for want of memory.
  void stop() noexcept;                                    // closes everything at once
  void drain() noexcept;                                   // connections end with their next answer
  void post(std::function<void()> call);                   // onto the reactor; dropped after stop()
  void after(double seconds, std::function<void()> call);  // the same, later
  size_t connections() const;                              // open
  uint64_t reply_bytes() const;                            // of replies under way
  // Requests whose head was accepted and whose answer is not yet written.
  size_t exchanges() const;
  // Connections so far that were closed to make room for another one, and that were not taken since
  // their address had too many.
  uint64_t displaced_connections() const;
  uint64_t refused_connections() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hearth
