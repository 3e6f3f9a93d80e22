#include "bench/serve_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/error.h"

namespace hearth {
namespace {

constexpr size_t kMostHeadBytes = 64 << 10;
constexpr size_t kMostToldBytes = 40;

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename T>
bool read_number(std::string_view text, T* value, int base = 10) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *value, base);
  return error == std::errc{} && stop == end && !text.empty();
}

bool can_stand_in_url(char c) { return c > ' ' && c < 127; }

}  // namespace

ServeUrl parse_serve_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    fail(ErrorCode::kUsage, "--serve '{}': https is not built in; give the http address behind it",
         url);
  }
  if (!url.starts_with(kScheme) || !std::ranges::all_of(url, can_stand_in_url)) {
    fail(ErrorCode::kUsage, "--serve '{}' is no address like http://127.0.0.1:8080", url);
  }
  std::string_view rest = std::string_view(url).substr(kScheme.size());
  ServeUrl out;
  size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  out.authority = rest.substr(0, slash);
  out.base = rest.substr(slash);
  size_t colon = out.authority.rfind(':');
  if (out.authority.starts_with('[')) {
    size_t bracket = out.authority.find(']');
    out.host = out.authority.substr(1, bracket == std::string::npos ? 0 : bracket - 1);
    if (colon < bracket) colon = std::string::npos;
  } else {
    out.host = out.authority.substr(0, colon);
  }
  out.port = colon == std::string::npos ? "80" : out.authority.substr(colon + 1);
  uint16_t port = 0;
  if (out.host.empty() || !read_number(out.port, &port) || port == 0 ||
      out.base.find_first_of("?#") != std::string::npos ||
      out.host.find('@') != std::string::npos) {
    fail(ErrorCode::kUsage, "--serve '{}' is no address like http://127.0.0.1:8080", url);
  }
  while (out.base.ends_with('/')) out.base.pop_back();
  if (out.base.ends_with("/v1")) out.base.resize(out.base.size() - 3);
  return out;
}

std::string http_request(const ServeUrl& url, std::string_view path, std::string_view key,
                         const std::optional<std::string>& body) {
  std::string out = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
                                body ? "POST" : "GET", url.base, path, url.authority);
  if (!key.empty()) out += fmt::format("Authorization: Bearer {}\r\n", key);
  if (!body) return out + "Accept: application/json\r\n\r\n";
  return out + fmt::format(
                   "Accept: text/event-stream\r\nContent-Type: application/json\r\n"
                   "Content-Length: {}\r\n\r\n{}",
                   body->size(), *body);
}

void HttpReplyReader::take(std::string_view bytes, std::string* body) {
  while (!bytes.empty() && state_ != State::kDone && state_ != State::kBroken) {
    if (state_ == State::kLength || state_ == State::kRest || state_ == State::kChunk) {
      bytes.remove_prefix(take_body(bytes, body));
      continue;
    }
    size_t end = bytes.find('\n');
    head_bytes_ += std::min(end, bytes.size());
    if (head_bytes_ > kMostHeadBytes) return break_off("its header has no end");
    if (end == bytes.npos) {
      line_ += bytes;
      return;
    }
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    std::string line = std::move(line_);
    line_.clear();
    take_line(line);
  }
}

void HttpReplyReader::close() {
  if (state_ == State::kRest) state_ = State::kDone;
  if (state_ != State::kDone) break_off("the connection ended before the reply did");
}

void HttpReplyReader::take_line(std::string_view line) {
  switch (state_) {
    case State::kHead:
      return take_head_line(line);
    case State::kChunkSize:
      return take_chunk_size(line);
    case State::kChunkEnd:
      if (!line.empty()) return break_off("a chunk is longer than it says");
      state_ = State::kChunkSize;
      return;
    default:
      if (line.empty()) state_ = State::kDone;
  }
}

void HttpReplyReader::take_head_line(std::string_view line) {
  if (!first_line_) return line.empty() ? end_head() : take_field(line);
  first_line_ = false;
  // "HTTP/1.1 200 OK"
  bool is_http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ';
  if (!is_http || !read_number(line.substr(9, 3), &status_) || status_ < 100) {
    break_off(fmt::format("it does not begin as HTTP does: '{}'", line.substr(0, kMostToldBytes)));
  }
}

void HttpReplyReader::take_field(std::string_view line) {
  size_t colon = line.find(':');
  if (colon == line.npos) return break_off("a field of its header has no colon");
  std::string name = ascii_lower(line.substr(0, colon));
  std::string value = ascii_lower(trimmed(line.substr(colon + 1)));
  if (name == "transfer-encoding") {
    chunked_ = value == "chunked";
    if (!chunked_) break_off(fmt::format("its transfer encoding is '{}'", value));
  } else if (name == "content-length") {
    uint64_t length = 0;
    if (!read_number(value, &length)) return break_off("its Content-Length is no number");
    length_ = length;
  } else if (name == "content-type") {
    events_ = value.starts_with("text/event-stream");
  }
}

void HttpReplyReader::end_head() {
  head_bytes_ = 0;
  if (status_ < 200) {
    // An interim reply: the real one follows.
    first_line_ = true;
    status_ = 0;
    length_.reset();
    chunked_ = events_ = false;
  } else if (status_ == 204 || status_ == 304) {
    state_ = State::kDone;
  } else if (chunked_) {
    state_ = State::kChunkSize;
  } else if (length_) {
    left_ = *length_;
    state_ = left_ == 0 ? State::kDone : State::kLength;
  } else {
    state_ = State::kRest;
  }
}

void HttpReplyReader::take_chunk_size(std::string_view line) {
  head_bytes_ = 0;
  std::string_view size = trimmed(line.substr(0, line.find(';')));
  if (!read_number(size, &left_, 16)) return break_off("the size of a chunk is no number");
  state_ = left_ == 0 ? State::kTrailer : State::kChunk;
}

size_t HttpReplyReader::take_body(std::string_view bytes, std::string* body) {
  size_t count = bytes.size();
  if (state_ != State::kRest) count = static_cast<size_t>(std::min<uint64_t>(count, left_));
  *body += bytes.substr(0, count);
  if (state_ == State::kRest) return count;
  left_ -= count;
  if (left_ == 0) state_ = state_ == State::kChunk ? State::kChunkEnd : State::kDone;
  return count;
}

void HttpReplyReader::break_off(std::string problem) {
  problem_ = std::move(problem);
  state_ = State::kBroken;
}

void EventReader::take(std::string_view bytes, std::vector<std::string>* events) {
  while (!bytes.empty()) {
    // The second half of a line end.
    if (after_return_ && bytes[0] == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == bytes.npos) return;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(line_, events);
    line_.clear();
  }
}

void EventReader::take_line(std::string_view line, std::vector<std::string>* events) {
  if (line.empty()) {
    if (has_data_) events->push_back(std::move(data_));
    data_.clear();
    has_data_ = false;
    return;
  }
  if (!line.starts_with("data:") && line != "data") return;
  line.remove_prefix(std::min<size_t>(line.size(), 5));
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace hearth
