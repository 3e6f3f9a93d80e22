#include "http/listener.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/bind_allocator.hpp>
#include <chrono>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "http/client_address.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// Descriptors kept free for files and pipes that the process opens later, and for the listeners.
constexpr size_t kOtherDescriptors = 32;
constexpr int kAskedDescriptors = 4096;
// Time between tries to accept after descriptors ran out: no event tells when other parts of the
// process close theirs.
constexpr std::chrono::milliseconds kRetry(100);

size_t open_descriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error), end;
  size_t count = 0;
  for (; !error && entries != end; entries.increment(error)) ++count;
  if (!error) return count;
  // There is no readable /proc/self/fd: tries each descriptor number that a process usually has.
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
    fail_field(ErrorCode::kUsage, "host",
               "is {}, which has no address: give another name or an IP address", host);
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

HttpListener::HttpListener(HttpShared& shared, const HttpAddress& address)
    : shared_(shared),
      accepting_(shared.accepting.emplace_back()),
      acceptor_(shared.context),
      resume_(shared.context) {
  Tcp::endpoint endpoint = find_endpoint(shared.context, address.host, address.port);
  boost::system::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) {
    fail(ErrorCode::kResource, "cannot listen at {} port {}: {}; {}", address.host, address.port,
         error.message(), address.remedy.empty() ? "choose another host or port" : address.remedy);
  }
}

// Waits for a connection. At most one call waits in the reactor, this one's or pause()'s, so the
// slot for one call suffices.
void HttpListener::wait() {
  auto ready = [this](boost::system::error_code) { on_ready(); };
  acceptor_.async_wait(asio::socket_base::wait_read,
                       asio::bind_allocator(WakeMemory(accepting_), ready));
}

void HttpListener::pause() {
  auto ready = [this](boost::system::error_code) { on_ready(); };
  try {
    resume_.expires_after(kRetry);
    resume_.async_wait(asio::bind_allocator(WakeMemory(accepting_), ready));
  } catch (const std::bad_alloc& thrown) {
    // Asio's list of timers could not grow.
    shared_.trouble(thrown);
    newcomer_.reset();
    wait();
  }
}

void HttpListener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  resume_.cancel();
}

void HttpListener::on_ready() {
  if (!acceptor_.is_open()) return;
  bool in_time = true;
  try {
    in_time = (newcomer_ || accept()) && (!newcomer_ || let_in());
  } catch (const std::bad_alloc& thrown) {
    shared_.trouble(thrown);
    newcomer_.reset();
  }
  if (!acceptor_.is_open()) return;
  in_time ? wait() : pause();
}

// Accepts a connection; false where no descriptor is free.
bool HttpListener::accept() {
  Tcp::socket socket(shared_.context);
  Tcp::endpoint peer;
  boost::system::error_code error;
  acceptor_.accept(socket, peer, error);
  if (error) return error == asio::error::connection_aborted || error == asio::error::would_block;
  newcomer_.emplace(Newcomer{std::move(socket), peer.address().to_string()});
  return true;
}

// Lets the newcomer in; false where it must wait for an open connection to end or become idle.
bool HttpListener::let_in() {
  using Verdict = ConnectionTable<HttpConnection>::Verdict;
  const std::string client = client_of_address(newcomer_->address);
  auto admission = shared_.table.admit(client);
  // The connection to be closed may have an unread request in its socket, as happens in a burst of
  // connections. So its socket is read first, and then the table is asked again.
  for (const HttpConnection* looked_at = nullptr;
       admission.closes != nullptr && admission.closes != looked_at;
       admission = shared_.table.admit(client)) {
    looked_at = admission.closes;
    if (!admission.closes->read_waiting()) break;
  }
  if (admission.closes != nullptr) {
    ++shared_.displaced;
    admission.closes->close();
  }
  if (admission.verdict == Verdict::kWait) return false;
  Newcomer newcomer = std::move(*newcomer_);
  newcomer_.reset();
  if (admission.verdict == Verdict::kRefuse) {
    ++shared_.refused_connections;
    return true;
  }
  boost::system::error_code ignored;
  newcomer.socket.set_option(Tcp::no_delay(true), ignored);
  HttpConnection::start(shared_, HttpConnection::Socket(std::move(newcomer.socket)),
                        std::move(newcomer.address));
  return true;
}

}  // namespace hearth
