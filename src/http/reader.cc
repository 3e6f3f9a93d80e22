#include "http/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

// Bytes of empty lines accepted before a request line: some clients send one or two after a body.
constexpr uint32_t kBlankBytes = 4;
constexpr std::string_view kTooMany =
    "The bodies of all requests, or of this client's, take too much memory; try again later.";

}  // namespace

bool BodyBudget::fits(const std::string& client, uint64_t bytes, uint64_t already) const {
  bool only = shares_.held_by(client) == already;
  return only ? shares_.has_room(bytes) : shares_.may_take(client, bytes);
}

bool BodyBudget::take(const std::string& client, uint64_t bytes, uint64_t already) {
  std::lock_guard lock(mutex_);
  if (!fits(client, bytes, already)) return false;
  shares_.take(client, bytes);
  return true;
}

void BodyBudget::give(const std::string& client, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  shares_.give_back(client, bytes);
}

bool BodyBudget::has_room(const std::string& client, uint64_t bytes, uint64_t already) const {
  std::lock_guard lock(mutex_);
  return fits(client, bytes, already);
}

uint64_t BodyBudget::used() const {
  std::lock_guard lock(mutex_);
  return shares_.held();
}

BodyLease& BodyLease::operator=(BodyLease&& other) noexcept {
  if (this == &other) return *this;
  release();
  budget_ = std::move(other.budget_);
  client_ = std::move(other.client_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool BodyLease::grow_to(uint64_t bytes) {
  if (bytes <= bytes_) return true;
  if (!budget_->take(client_, bytes - bytes_, bytes_)) return false;
  bytes_ = bytes;
  return true;
}

void BodyLease::release() {
  if (bytes_ > 0) budget_->give(client_, bytes_);
  bytes_ = 0;
}

void HttpReader::refuse(unsigned status, std::string_view code, std::string_view message) {
  refusal_ = http_error(status, code, message);
  stage_ = Stage::kRefused;
  block_ = {};
}

size_t HttpReader::take(std::string_view bytes) {
  switch (stage_) {
    case Stage::kStart:
    case Stage::kHead:
      return take_head(bytes);
    case Stage::kBody:
      return head_.chunked ? take_chunks(bytes) : take_body(bytes);
    default:
      return 0;
  }
}

size_t HttpReader::take_head(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && (stage_ == Stage::kStart || stage_ == Stage::kHead)) {
    take_head_byte(bytes[taken++]);
  }
  return taken;
}

void HttpReader::take_head_byte(char c) {
  stage_ = Stage::kHead;
  char previous = block_.empty() ? '\0' : block_.back();
  if (block_.empty() && (c == '\r' || c == '\n' || blank_ % 2 == 1)) {
    bool in_turn = c == (blank_ % 2 == 0 ? '\r' : '\n');
    if (!in_turn || ++blank_ > kBlankBytes) {
      refuse(400, "malformed_request", "The request does not begin with a request line.");
    }
    return;
  }
  auto byte = static_cast<unsigned char>(c);
  bool control = (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f;
  bool folded = (c == ' ' || c == '\t') && previous == '\n';
  if (control || folded || (c == '\n') != (previous == '\r')) {
    return refuse(400, "malformed_request",
                  folded ? "The request's header has a folded line."
                         : "The request's header has a control character, or a line that does not "
                           "end with CR and LF.");
  }
  if (block_.empty() && (c < 'A' || c > 'Z')) {
    return refuse(400, "malformed_request", "The request does not begin with a method.");
  }
  block_.push_back(c);
  if (c == '\n') return end_head_line();
  if (block_.size() < options_.header_bytes) return;
  if (lines_ == 0) {
    return refuse(414, "uri_too_long",
                  fmt::format("The request line is longer than {} bytes.", options_.header_bytes));
  }
  refuse(431, "header_too_large",
         fmt::format("The request's header is larger than {} bytes.", options_.header_bytes));
}

void HttpReader::end_head_line() {
  ++lines_;
  bool empty = block_.size() - line_start_ == 2;
  line_start_ = block_.size();
  if (!empty) {
    // The request line is counted in lines_, but is no field.
    if (lines_ <= options_.header_fields + 1) return;
    return refuse(431, "header_too_large",
                  fmt::format("The request has more than {} fields.", options_.header_fields));
  }
  head_ = {};
  if (auto refused = parse_head(block_, head_)) {
    refusal_ = std::move(*refused);
    stage_ = Stage::kRefused;
  } else {
    stage_ = Stage::kHeadDone;
  }
  block_ = {};
}

void HttpReader::begin_body() {
  if (head_.content_length > options_.body_bytes) {
    return refuse(413, "body_too_large",
                  fmt::format("The request's body is larger than {} bytes.", options_.body_bytes));
  }
  if (!budget_->has_room(head_.request.client, head_.content_length)) {
    return refuse(503, "bodies_too_large", kTooMany);
  }
  chunks_ = {};
  lease_ = BodyLease(budget_, head_.request.client);
  stage_ = head_.has_body() ? Stage::kBody : Stage::kDone;
}

size_t HttpReader::take_body(std::string_view bytes) {
  uint64_t missing = head_.content_length - head_.request.body.size();
  bytes = bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(missing, bytes.size())));
  add_body(bytes);
  if (stage_ == Stage::kBody && bytes.size() == missing) stage_ = Stage::kDone;
  return bytes.size();
}

size_t HttpReader::take_chunks(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && stage_ == Stage::kBody) {
    std::string_view data;
    taken += chunks_.take(bytes.substr(taken), data);
    add_body(data);
    if (chunks_.fault()) refuse(400, "invalid_framing", chunks_.fault());
    if (chunks_.done() && stage_ == Stage::kBody) stage_ = Stage::kDone;
  }
  return taken;
}

void HttpReader::add_body(std::string_view data) {
  std::string& body = head_.request.body;
  if (data.size() > options_.body_bytes - body.size()) {
    return refuse(413, "body_too_large",
                  fmt::format("The request's body is larger than {} bytes.", options_.body_bytes));
  }
  size_t size = body.size() + data.size();
  if (size > body.capacity()) {
    // Doubles the room each time, up to the most that the body may have.
    uint64_t most = head_.chunked ? options_.body_bytes : head_.content_length;
    uint64_t room = std::max<uint64_t>(size, std::min<uint64_t>(most, 2 * body.capacity()));
    if (!lease_.grow_to(room)) {
      return refuse(503, "bodies_too_large", kTooMany);
    }
    body.reserve(static_cast<size_t>(room));
  }
  body.append(data);
}

HttpRequest HttpReader::release(BodyLease& lease) {
  lease = std::move(lease_);
  HttpRequest request = std::move(head_.request);
  reset();
  return request;
}

void HttpReader::reset() {
  stage_ = Stage::kStart;
  block_ = {};
  blank_ = lines_ = 0;
  line_start_ = 0;
  head_ = {};
  lease_.release();
}

}  // namespace hearth
