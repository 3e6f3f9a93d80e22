#include "server/http_listener.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "server/client_address.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// Files and pipes that the rest of the process opens later, and the listener's own.
constexpr size_t kOtherDescriptors = 32;
constexpr int kAskedDescriptors = 4096;
// Where others than our connections hold the descriptors, nothing tells when one is free.
constexpr std::chrono::milliseconds kRetry(100);

size_t open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error), end;
  size_t count = 0;
  for (; !error && entries != end; entries.increment(error)) ++count;
  if (!error) return count;
  // There is no /proc, or it may not be read: each of those that a process usually has is asked.
  count = 0;
  for (int descriptor = 0; descriptor < kAskedDescriptors; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) ++count;
  }
  return count;
}

Tcp::endpoint find_endpoint(asio::io_context& context, std::string host, uint16_t port) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  boost::system::error_code error;
  asio::ip::address address = asio::ip::make_address(host, error);
  if (!error) return {address, port};
  Tcp::resolver resolver(context);
  auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, error);
  if (error || found.empty()) {
    fail_field(ErrorCode::kUsage, "host", "is {}, which no address belongs to", host);
  }
  return found.begin()->endpoint();
}

}  // namespace

size_t room_for_connections(size_t wanted) {
  size_t others = open_descriptors() + kOtherDescriptors;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < wanted + others && limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(wanted + others, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  size_t room = limit.rlim_cur > others ? static_cast<size_t>(limit.rlim_cur) - others : 1;
  return std::min(wanted, room);
}

HttpListener::HttpListener(HttpShared& shared)
    : shared_(shared), acceptor_(shared.context), resume_(shared.context) {
  const HttpOptions& options = shared.options;
  Tcp::endpoint endpoint = find_endpoint(shared.context, options.host, options.port);
  boost::system::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) {
    fail(ErrorCode::kResource, "cannot listen at {} port {}: {}; choose another host or port",
         options.host, options.port, error.message());
  }
}

void HttpListener::start() {
  asio::co_spawn(
      shared_.context, [this]() -> asio::awaitable<void> { co_await accept(); }, asio::detached);
}

void HttpListener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  resume_.cancel();
}

asio::awaitable<void> HttpListener::accept() {
  while (acceptor_.is_open()) {
    Tcp::socket socket(shared_.context);
    Tcp::endpoint peer;
    boost::system::error_code error;
    auto token = asio::redirect_error(asio::use_awaitable, error);
    co_await acceptor_.async_accept(socket, peer, token);
    if (!acceptor_.is_open()) co_return;
    if (error == asio::error::connection_aborted) continue;
    bool begun = false;
    try {
      if (!error) {
        std::string address = peer.address().to_string();
        if (!co_await make_room(client_of_address(address))) continue;
        begun = begin(std::move(socket), address);
      }
    } catch (const std::bad_alloc&) {
    }
    if (!begun) co_await pause();  // no descriptor, or no memory
  }
}

// Returns whether a new connection of the client may begin; waits where none makes room for it.
asio::awaitable<bool> HttpListener::make_room(const std::string& client) {
  using Verdict = ConnectionTable<HttpConnection>::Verdict;
  while (acceptor_.is_open()) {
    auto admission = shared_.table.admit(client);
    if (admission.closes != nullptr) {
      ++shared_.displaced;
      admission.closes->close();
    }
    if (admission.verdict == Verdict::kOpen) co_return true;
    if (admission.verdict == Verdict::kRefuse) {
      ++shared_.refused_connections;
      co_return false;
    }
    co_await pause();
  }
  co_return false;
}

asio::awaitable<void> HttpListener::pause() {
  boost::system::error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  resume_.expires_after(kRetry);
  co_await resume_.async_wait(token);
}

bool HttpListener::begin(Tcp::socket socket, const std::string& peer) {
  boost::system::error_code ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  try {
    HttpConnection::start(shared_, HttpConnection::Socket(std::move(socket)), peer);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace hearth
