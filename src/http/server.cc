#include "http/server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <new>
#include <utility>

#include "http/api_error.h"
#include "http/connection.h"
#include "http/listener.h"

namespace hearth {

namespace asio = boost::asio;

struct HttpServer::Parts {
  Parts(const HttpOptions& options, HttpCheck check, HttpHandler handler, HttpRefused refused,
        HttpReplyFields reply_fields, HttpTrouble trouble)
      : limit(room_for_connections(std::max<uint32_t>(options.connections, 1))) {
    shared = std::make_unique<HttpShared>(context, options, std::move(check), std::move(handler),
                                          std::move(refused));
    shared->reply_fields = std::move(reply_fields);
    shared->trouble = std::move(trouble);
    shortage_words();  // made now, while there is memory
    size_t of_address = options.address_connections;
    if (of_address == 0) of_address = (limit + 3) / 4;
    shared->table = {limit, of_address};
    listeners.emplace_back(*shared, HttpAddress{options.host, options.port, ""});
    for (const HttpAddress& address : options.others) listeners.emplace_back(*shared, address);
    shared->on_room = [this] {
      for (HttpListener& listener : listeners) listener.on_room();
    };
    for (HttpListener& listener : listeners) listener.start();
  }

  void stop_listening() {
    for (HttpListener& listener : listeners) listener.stop();
  }

  size_t limit;
  // Destroyed after the context, whose waiting calls hold connections that use it.
  std::unique_ptr<HttpShared> shared;
  asio::io_context context{1};
  std::deque<HttpListener> listeners;
};

HttpServer::HttpServer(const HttpOptions& options, HttpCheck check, HttpHandler handler,
                       HttpRefused refused, HttpReplyFields reply_fields, HttpTrouble trouble)
    : parts_(std::make_unique<Parts>(options, std::move(check), std::move(handler),
                                     std::move(refused), std::move(reply_fields),
                                     std::move(trouble))) {}

HttpServer::~HttpServer() {
  parts_->stop_listening();
  parts_->shared->close_all();
  parts_->shared->on_room = [] {};
  parts_->shared->mailbox->close();
}

uint16_t HttpServer::port(size_t number) const { return parts_->listeners.at(number).port(); }
size_t HttpServer::connection_limit() const { return parts_->limit; }

void HttpServer::run() {
  auto work = asio::make_work_guard(parts_->context);
  while (!parts_->context.stopped()) {
    try {
      parts_->context.run();
    } catch (const std::exception& thrown) {
      // The exception has ended only its own connection.
      parts_->shared->trouble(thrown);
    }
  }
}

void HttpServer::stop() noexcept {
  try {
    asio::post(parts_->context, [parts = parts_.get()] {
      parts->stop_listening();
      parts->shared->close_all();
      parts->context.stop();
    });
  } catch (const std::bad_alloc&) {
    // The destructor closes the open connections.
    parts_->context.stop();
  }
}

void HttpServer::drain() noexcept { parts_->shared->draining = true; }

void HttpServer::post(std::function<void()> call) { asio::post(parts_->context, std::move(call)); }

void HttpServer::after(double seconds, std::function<void()> call) {
  auto wait = std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, 1e8) * 1e9));
  auto timer = std::make_shared<asio::steady_timer>(parts_->context, wait);
  timer->async_wait([timer, call = std::move(call)](boost::system::error_code error) {
    if (!error) call();
  });
}

size_t HttpServer::connections() const { return parts_->shared->connections; }
uint64_t HttpServer::reply_bytes() const { return parts_->shared->replies->used(); }
size_t HttpServer::exchanges() const { return parts_->shared->exchanges; }
uint64_t HttpServer::displaced_connections() const { return parts_->shared->displaced; }
uint64_t HttpServer::refused_connections() const { return parts_->shared->refused_connections; }

}  // namespace hearth
