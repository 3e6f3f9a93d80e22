// HttpServer: HTTP/1.1 and 1.0 (RFC 9110, 9112) on one thread, the reactor. Every connection always
// has a read pending, so a client that leaves is noticed soon, also while its answer is computed or
// written. A client that closes only its sending side gets its answers; connection.h tells how the
// two are told apart. A connection's requests are answered in order. A request that is malformed,
// ambiguous or over a limit gets an error (api_error.h), and its connection ends. Framing is
// stricter than RFC 9112 asks for: see framing.h.
//
// The process's soft limit on descriptors is raised as far as the connections need it and the hard
// limit allows; if that does not suffice, there are fewer connections.
//
// No address may have more than its part of the connections. At a limit the connection that has
// been without a request the longest is closed for a new one (http/connection_table.h).
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

// Checks a request before its body is read (its `body` is empty). Returns an error reply (401, 403,
// 404, 405, 503), or nothing to go on. It may set `head.client`, which is the address
// (client_address.h) before. Called by the reactor's thread; must be quick.
using HttpCheck = std::function<std::optional<HttpReply>(HttpRequest& head)>;
// Answers a request. The reactor's thread calls this, so it must be quick. An exception is answered
// by 500.
using HttpHandler = std::function<void(std::shared_ptr<Exchange>)>;

// The reactor's thread calls this for a request refused for its form or a limit; parts that could
// not be read are empty.
using HttpRefused = std::function<void(const HttpRequest& head, const ApiError& error)>;

// Returns fields to add to any answer to the request, the server's own errors included. The
// reactor's thread calls this.
using HttpReplyFields = std::function<HttpFields(const HttpRequest& head)>;
// Called on the reactor's thread with an exception that no answer reports to a client. Must not
// throw.
using HttpTrouble = std::function<void(const std::exception&)>;

class HttpServer {
 public:
  // Binds and listens. Throws Error: kUsage where the host does not exist, kResource where the port
  // cannot be had.
  HttpServer(
      const HttpOptions& options, HttpCheck check, HttpHandler handler,
      HttpRefused refused = [](const HttpRequest&, const ApiError&) {},
      HttpReplyFields reply_fields = [](const HttpRequest&) { return HttpFields(); },
      HttpTrouble trouble = [](const std::exception&) {});
  ~HttpServer();  // must not run during run()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the port of options.host (number 0), or of the address options.others[number - 1].
  uint16_t port(size_t number = 0) const;
  // Returns the most connections that are accepted: options.connections, or as many as descriptors
  // allow.
  size_t connection_limit() const;

  // Runs the reactor on the calling thread until stop(). An exception, such as for lack of memory,
  // ends only the call that threw it.
  void run();
  // Any thread may call these; post() and after() may throw for lack of memory.
  void stop() noexcept;                                    // closes all connections at once
  void drain() noexcept;                                   // connections end with their next answer
  void post(std::function<void()> call);                   // runs on the reactor, until stop()
  void after(double seconds, std::function<void()> call);  // post() after so many seconds
  size_t connections() const;                              // open ones
  uint64_t reply_bytes() const;                            // bytes of all replies under way
  // Returns the number of requests whose head was accepted and whose answer is not yet written.
  size_t exchanges() const;
  // Return how many connections were closed so far to make room for another, and how many were
  // refused since their address had too many.
  uint64_t displaced_connections() const;
  uint64_t refused_connections() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hearth
