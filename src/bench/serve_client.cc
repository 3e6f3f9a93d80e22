#include "bench/serve_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/json_reader.h"
#include "bench/serve_answer.h"

namespace hearth {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kEventsAtOnce = 512;
constexpr double kModelSeconds = 30;

std::string error_text(int error) { return std::strerror(error); }

void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

ServeClient::ServeClient(const ServeUrl& url, std::function<double()> clock)
    : clock_(std::move(clock)), buffer_(kReadBytes, '\0') {
  allow_descriptors();
  find_address(url);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) fail(ErrorCode::kResource, "no epoll: {}", error_text(errno));
}

ServeClient::~ServeClient() {
  for (const auto& [id, connection] : connections_) close(connection.fd);
  close(epoll_);
}

void ServeClient::find_address(const ServeUrl& url) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (error != 0) {
    fail(ErrorCode::kResource, "there is no host '{}': {}", url.host, gai_strerror(error));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, freeaddrinfo);
  int refusal = 0;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen) == 0;
    refusal = errno;
    if (fd >= 0) close(fd);
    if (!connected) continue;
    std::memcpy(&address_, each->ai_addr, each->ai_addrlen);
    address_size_ = each->ai_addrlen;
    return;
  }
  fail(ErrorCode::kResource, "no server answers at {}: {}", url.authority, error_text(refusal));
}

int ServeClient::connect_socket() const {
  int fd = socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const auto* address = reinterpret_cast<const sockaddr*>(&address_);
  if (connect(fd, address, address_size_) == 0 || errno == EINPROGRESS) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

void ServeClient::watch(uint64_t id, int fd, bool writing, int operation) const {
  epoll_event event{};
  event.events = EPOLLIN | (writing ? static_cast<uint32_t>(EPOLLOUT) : 0u);
  event.data.u64 = id;
  epoll_ctl(epoll_, operation, fd, &event);
}

ServeEvent ServeClient::failure(uint64_t id, std::string kind, std::string text) const {
  ServeEvent event;
  event.id = id;
  event.when = clock_();
  event.kind = ServeEvent::Kind::kFailed;
  event.failure = std::move(kind);
  event.text = std::move(text);
  return event;
}

void ServeClient::start(uint64_t id, std::string request) {
  int fd = connect_socket();
  if (fd < 0) {
    early_.push_back(failure(id, "connect", error_text(errno)));
    return;
  }
  Connection& connection = connections_[id];
  connection.fd = fd;
  connection.unsent = std::move(request);
  watch(id, fd, true, EPOLL_CTL_ADD);
}

void ServeClient::abandon(uint64_t id) {
  auto which = connections_.find(id);
  if (which == connections_.end()) return;
  close(which->second.fd);
  connections_.erase(which);
}

void ServeClient::wait(double seconds, std::vector<ServeEvent>* events) {
  if (!early_.empty()) {
    std::ranges::move(early_, std::back_inserter(*events));
    early_.clear();
    return;
  }
  // poll's time is finer than epoll's milliseconds.
  pollfd ready{epoll_, POLLIN, 0};
  auto whole = static_cast<time_t>(seconds);
  timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  if (ppoll(&ready, 1, &time, nullptr) <= 0) return;
  std::array<epoll_event, kEventsAtOnce> found;
  int count = epoll_wait(epoll_, found.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) serve(found[i].data.u64, found[i].events, events);
}

void ServeClient::serve(uint64_t id, uint32_t what, std::vector<ServeEvent>* events) {
  auto which = connections_.find(id);
  if (which == connections_.end()) return;
  Connection& connection = which->second;
  bool goes_on = true;
  if ((what & EPOLLOUT) != 0 || !connection.connected) {
    goes_on = write_some(id, connection, events);
  }
  if (goes_on && (what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    goes_on = read_some(id, connection, events);
  }
  if (!goes_on) abandon(id);
}

bool ServeClient::write_some(uint64_t id, Connection& connection, std::vector<ServeEvent>* events) {
  if (!connection.connected) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      events->push_back(failure(id, "connect", error_text(error)));
      return false;
    }
    connection.connected = true;
  }
  while (connection.sent < connection.unsent.size()) {
    ssize_t count = send(connection.fd, connection.unsent.data() + connection.sent,
                         connection.unsent.size() - connection.sent, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    // What the server has to say of it may still be read.
    if (count < 0) break;
    connection.sent += static_cast<size_t>(count);
  }
  connection.sent = connection.unsent.size();
  watch(id, connection.fd, false, EPOLL_CTL_MOD);
  return true;
}

bool ServeClient::read_some(uint64_t id, Connection& connection, std::vector<ServeEvent>* events) {
  ssize_t count = recv(connection.fd, buffer_.data(), buffer_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  int error = count < 0 ? errno : 0;
  ServeEvent event;
  event.id = id;
  event.when = clock_();
  HttpReplyReader& reply = connection.reply;
  if (count > 0) {
    reply.take({buffer_.data(), static_cast<size_t>(count)}, &event.text);
    if (!reply.problem().empty()) {
      events->push_back(failure(id, "malformed", reply.problem()));
      return false;
    }
  } else {
    reply.close();
  }
  if (count <= 0 && !reply.done()) {
    events->push_back(
        failure(id, "cut short", error != 0 ? error_text(error) : std::string(reply.problem())));
    return false;
  }
  event.status = reply.status();
  event.is_stream = reply.is_event_stream();
  event.kind = reply.done() ? ServeEvent::Kind::kEnd : ServeEvent::Kind::kBody;
  if (reply.done() || !event.text.empty()) events->push_back(std::move(event));
  return !reply.done();
}

std::string ask_model(ServeTransport& transport, const ServeUrl& url, const std::string& key,
                      const std::function<double()>& clock) {
  constexpr uint64_t kId = std::numeric_limits<uint64_t>::max();
  transport.start(kId, http_request(url, "/v1/models", key, {}));
  double latest = clock() + kModelSeconds;
  std::string body;
  std::vector<ServeEvent> events;
  bool ended = false;
  while (!ended && clock() < latest) {
    events.clear();
    transport.wait(latest - clock(), &events);
    for (const ServeEvent& event : events) {
      body += event.text;
      ended = event.kind != ServeEvent::Kind::kBody;
      if (!ended || event.status == 200) continue;
      fail(ErrorCode::kResource, "{}/v1/models answers {}: {}; name a model with --model",
           url.authority, event.status == 0 ? event.failure : fmt::format("HTTP {}", event.status),
           error_message(body));
    }
  }
  transport.abandon(kId);
  try {
    boost::json::value told = read_json(body);
    return std::string(told.at("data").at(0).at("id").as_string());
  } catch (const std::exception&) {
    fail(ErrorCode::kResource, "{}/v1/models names no model; name one with --model", url.authority);
  }
}

}  // namespace hearth
