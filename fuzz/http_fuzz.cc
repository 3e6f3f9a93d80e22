// Fuzzes an HTTP connection with any bytes in any pieces. The handler replies, streams, waits or
// fails, as the path says. The first byte seeds the cutting into pieces. The client sends the other
// bytes and closes its side.
//   - the bytes that the client gets begin as an answer does; no request body is longer than
//     allowed
//   - once the client has left, the connection ends, and no exchange and no body byte is left
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "http/api_error.h"
#include "http/connection.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;

constexpr uint64_t kBodyBytes = 1000;

HttpOptions limits() {
  HttpOptions options;
  options.header_bytes = 512;
  options.header_fields = 8;
  options.body_bytes = kBodyBytes;
  options.all_body_bytes = 1500;
  options.pipeline_bytes = 128;
  for (double* seconds :
       {&options.header_seconds, &options.body_seconds, &options.idle_seconds,
        &options.write_seconds, &options.silence_seconds, &options.linger_seconds}) {
    *seconds = 1e6;
  }
  return options;
}

class Handler {
 public:
  void operator()(std::shared_ptr<Exchange> exchange) {
    const HttpRequest& request = exchange->request();
    HEARTH_CHECK(request.body.size() <= kBodyBytes, "a body keeps its limit");
    HEARTH_CHECK(request.minor == 0 || request.find("host"), "HTTP/1.1 has a host");
    char kind = request.path.size() > 1 ? request.path[1] : '\0';
    if (kind == 'd') return;
    if (kind == 't') throw std::runtime_error("as the path says");
    if (kind == 'w') {
      waiting.push_back(std::move(exchange));
      return;
    }
    if (kind == 'e') {
      // A handler may keep an exchange alive by its own on_gone() only if it answers it, as here.
      if (request.query.empty()) exchange->on_gone([exchange] {});
      exchange->begin_events({{"X-Path", request.path}});
      exchange->send(request.body);
      if (request.query.empty()) {
        exchange->end();
      } else {
        waiting.push_back(std::move(exchange));
      }
      return;
    }
    HttpReply reply;
    reply.body = exchange->take_body();
    exchange->reply(std::move(reply));
  }

  std::vector<std::shared_ptr<Exchange>> waiting;
};

class Peer {
 public:
  explicit Peer(asio::io_context& context) : socket_(context) {}

  Local::socket& socket() { return socket_; }
  void send(std::string_view bytes) {
    boost::system::error_code error;
    socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  }
  void read() {
    std::array<char, 4096> bytes;
    boost::system::error_code error;
    while (!error) {
      size_t count = socket_.read_some(asio::buffer(bytes), error);
      answer_.append(bytes.data(), std::min(count, sizeof(kStart) - answer_.size()));
      if (answer_.size() > sizeof(kStart) - 1) answer_.resize(sizeof(kStart) - 1);
    }
    HEARTH_CHECK(std::string_view(kStart).starts_with(answer_), "an answer begins as one");
  }

 private:
  static constexpr char kStart[] = "HTTP/1.1 ";
  Local::socket socket_;
  std::string answer_;
};

void run(uint8_t seed, std::string_view input) {
  Handler handler;
  std::unique_ptr<HttpShared> shared;
  asio::io_context context{1};
  auto check = [](const HttpRequest& head) -> std::optional<HttpReply> {
    if (!head.path.starts_with("/f")) return std::nullopt;
    return error_reply(http_error(403, "forbidden", head.path));
  };
  shared = std::make_unique<HttpShared>(context, limits(), check, std::ref(handler),
                                        [](const HttpRequest&, const ApiError&) {});
  Peer peer(context);
  Local::socket ours(context);
  asio::local::connect_pair(ours, peer.socket());
  peer.socket().non_blocking(true);
  HttpConnection::start(*shared, HttpConnection::Socket(std::move(ours)), "fuzz");
  auto turn = [&] {
    context.restart();
    context.poll();
    peer.read();
  };
  uint32_t state = seed * 2654435761u + 1;
  while (!input.empty()) {
    state = state * 1664525u + 1013904223u;
    size_t length = std::min<size_t>(seed == 0 ? 1 : 1 + (state >> 16) % (seed * 4u), input.size());
    peer.send(input.substr(0, length));
    input.remove_prefix(length);
    turn();
    if (state >> 30 == 0) handler.waiting.clear();
  }
  boost::system::error_code ignored;
  peer.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  for (int round = 0; round < 10000 && shared->connections > 0; ++round) {
    handler.waiting.clear();
    turn();
  }
  turn();
  HEARTH_CHECK(shared->connections == 0, "a connection ends with its client");
  HEARTH_CHECK(shared->exchanges == 0, "an exchange ends with its connection");
  HEARTH_CHECK(shared->bodies->used() == 0, "the room of bodies comes back");
  shared->mailbox->close();
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  hearth::run(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
