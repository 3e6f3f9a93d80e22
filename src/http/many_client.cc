#include "http/many_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error.h"

namespace hearth {
namespace {

constexpr size_t kReadyAtOnce = 512;
constexpr long kMaxConnectMs = 10000;  // milliseconds for finding the server and connecting to it

void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

const char* failure_kind(CURLcode code, long system_error) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
      return "connect";
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
      return "cut short";
    case CURLE_RECV_ERROR:
      // libcurl also uses this code for malformed chunks.
      return system_error != 0 ? "cut short" : "malformed";
    default:
      return "malformed";
  }
}

// Returns "host:port" of "http://host:port", for CURLOPT_RESOLVE.
std::string named_port(const std::string& origin) {
  std::string name = origin.substr(origin.find("://") + 3);
  size_t port = name.rfind(':');
  bool has_port = port != std::string::npos && name.find(']', port) == std::string::npos;
  return has_port ? name : name + ":80";
}

}  // namespace

ManyClient::ManyClient(const std::string& origin, std::function<double()> clock)
    : clock_(std::move(clock)) {
  allow_descriptors();
  find_address(origin);
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0)
    fail(ErrorCode::kResource, "cannot create an epoll instance: {}", std::strerror(errno));
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

ManyClient::~ManyClient() {
  while (!under_way_.empty()) abandon(under_way_.begin()->first);
  multi_.reset();
  close(epoll_);
}

void ManyClient::find_address(const std::string& origin) {
  ClientRequest request{origin};
  CurlHandle handle;
  handle.prepare(request);
  handle.set(CURLOPT_PROXY, "");
  handle.set(CURLOPT_CONNECT_ONLY, 1L);
  handle.set(CURLOPT_CONNECTTIMEOUT_MS, kMaxConnectMs);
  CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) {
    fail(ErrorCode::kResource, "no server answers at {}: {}", origin, handle.problem(code));
  }
  const char* address = nullptr;
  curl_easy_getinfo(handle.get(), CURLINFO_PRIMARY_IP, &address);
  std::string name = named_port(origin);
  if (address == nullptr || name.starts_with('[')) return;
  address_.reset(curl_slist_append(nullptr, fmt::format("{}:{}", name, address).c_str()));
  if (!address_) throw std::bad_alloc();
}

void ManyClient::start(uint64_t id, ClientRequest request) {
  auto made = std::unique_ptr<UnderWay>(new UnderWay{*this, id, std::move(request)});
  UnderWay& under_way = *(under_way_[id] = std::move(made));
  CurlHandle& handle = under_way.handle;
  handle.prepare(under_way.request);
  handle.set(CURLOPT_PRIVATE, &under_way);
  handle.set(CURLOPT_WRITEFUNCTION, take_bytes);
  handle.set(CURLOPT_WRITEDATA, &under_way);
  handle.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  handle.set(CURLOPT_FRESH_CONNECT, 1L);
  handle.set(CURLOPT_FORBID_REUSE, 1L);
  handle.set(CURLOPT_PATH_AS_IS, 1L);
  handle.set(CURLOPT_PROXY, "");
  if (address_) handle.set(CURLOPT_RESOLVE, address_.get());
  if (curl_multi_add_handle(multi_.get(), handle.get()) != CURLM_OK) throw std::bad_alloc();
  act(CURL_SOCKET_TIMEOUT, 0);
}

void ManyClient::abandon(uint64_t id) {
  auto which = under_way_.find(id);
  if (which == under_way_.end()) return;
  curl_multi_remove_handle(multi_.get(), which->second->handle.get());
  under_way_.erase(which);
}

void ManyClient::wait(double seconds, std::vector<ReplyEvent>* events) {
  seconds = std::max(seconds, 0.0);  // `seconds` may be negative for a time in the past
  if (came_.empty()) {
    if (timer_) seconds = std::clamp(*timer_ - clock_(), 0.0, seconds);
    // ppoll waits with nanoseconds, epoll only with milliseconds.
    pollfd ready{epoll_, POLLIN, 0};
    auto whole = static_cast<time_t>(seconds);
    timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    std::array<epoll_event, kReadyAtOnce> found;
    int count = 0;
    if (ppoll(&ready, 1, &time, nullptr) > 0) {
      count = epoll_wait(epoll_, found.data(), kReadyAtOnce, 0);
    }
    for (int i = 0; i < count; ++i) {
      int what = (found[i].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0;
      if ((found[i].events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
      if ((found[i].events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
      act(found[i].data.fd, what);
    }
    if (timer_ && clock_() >= *timer_) {
      timer_.reset();
      act(CURL_SOCKET_TIMEOUT, 0);
    }
  }
  std::ranges::move(came_, std::back_inserter(*events));
  came_.clear();
}

void ManyClient::act(curl_socket_t socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_.get(), socket, events, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    char* data = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &data);
    end(*reinterpret_cast<UnderWay*>(data), message->data.result);
  }
}

ReplyEvent ManyClient::event_of(const UnderWay& under_way) const {
  ReplyEvent event;
  event.id = under_way.id;
  event.when = clock_();
  event.status = under_way.handle.status();
  const char* type = nullptr;
  curl_easy_getinfo(under_way.handle.get(), CURLINFO_CONTENT_TYPE, &type);
  constexpr std::string_view kEvents = "text/event-stream";
  event.is_stream = type != nullptr && strncasecmp(type, kEvents.data(), kEvents.size()) == 0;
  return event;
}

void ManyClient::end(UnderWay& under_way, CURLcode code) {
  // take_bytes() fails only where memory runs out; libcurl uses the same code for an endless
  // header.
  if (code == CURLE_WRITE_ERROR) throw std::bad_alloc();
  ReplyEvent event = event_of(under_way);
  event.kind = code == CURLE_OK ? ReplyEvent::Kind::kEnd : ReplyEvent::Kind::kFailed;
  if (code != CURLE_OK) {
    long system_error = 0;
    curl_easy_getinfo(under_way.handle.get(), CURLINFO_OS_ERRNO, &system_error);
    event.status = 0;
    event.failure = failure_kind(code, system_error);
    event.text = under_way.handle.problem(code);
  }
  came_.push_back(std::move(event));
  abandon(under_way.id);
}

size_t ManyClient::take_bytes(char* bytes, size_t size, size_t count, void* under_way) {
  UnderWay& self = *static_cast<UnderWay*>(under_way);
  try {
    ReplyEvent event = self.client.event_of(self);
    event.kind = ReplyEvent::Kind::kBody;
    event.text.assign(bytes, size * count);
    self.client.came_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    // No exception may pass through libcurl.
    return CURL_WRITEFUNC_ERROR;
  }
  return size * count;
}

int ManyClient::watch(CURL*, curl_socket_t socket, int what, void* client, void*) {
  int epoll = static_cast<ManyClient*>(client)->epoll_;
  epoll_event event{};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event);
    return 0;
  }
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0 || errno != ENOENT) return 0;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -1;
}

int ManyClient::set_timer(CURLM*, long milliseconds, void* client) {
  auto& self = *static_cast<ManyClient*>(client);
  self.timer_.reset();
  if (milliseconds >= 0) self.timer_ = self.clock_() + static_cast<double>(milliseconds) * 1e-3;
  return 0;
}

}  // namespace hearth
