#include "http/framing.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <charconv>
#include <limits>
#include <string>

#include "base/ascii.h"

namespace hearth {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kMethodLetters = 32;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_hex(char c) { return hex_value(c) >= 0; }

bool same_text(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, {}, [](char c) { return ascii_lower(c); });
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// HeadParser parses only the head; parse_head() gets the body's length from the fields.
class HeadParser : public http::basic_parser<true> {
 public:
  explicit HeadParser(HttpRequest& request) : request_(request) {}

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code&) override {
    request_.method = view(method);
    request_.path = view(target);
    request_.minor = version == 10 ? 0 : 1;
  }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     beast::error_code&) override {
    request_.fields.emplace_back(ascii_lower(view(name)), std::string(view(value)));
  }
  void on_header_impl(beast::error_code&) override {}
  void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, beast::error_code&) override {}
  size_t on_body_impl(beast::string_view body, beast::error_code&) override { return body.size(); }
  void on_chunk_header_impl(uint64_t, beast::string_view, beast::error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view body, beast::error_code&) override {
    return body.size();
  }
  void on_finish_impl(beast::error_code&) override {}

  HttpRequest& request_;
};

// Whether a request line ends in a version other than 1.0 and 1.1, such as "HTTP/2.0".
bool other_version(std::string_view line) {
  if (line.size() < 9) return false;
  std::string_view version = line.substr(line.size() - 9);
  return version.starts_with(" HTTP/") && is_digit(version[6]) && version[7] == '.' &&
         is_digit(version[8]) && version != " HTTP/1.1" && version != " HTTP/1.0";
}

bool target_char(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("-._~!$&'()*+,;=:@/?").find(c) != std::string_view::npos;
}

const char* target_fault(std::string_view target, std::string_view method) {
  if (target == "*" && method == "OPTIONS") return nullptr;
  if (!target.starts_with('/')) return "The request's target must be a path that begins with /.";
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '%') {
      if (i + 2 >= target.size() || !is_hex(target[i + 1]) || !is_hex(target[i + 2])) {
        return "The request's target has a % without two hexadecimal digits.";
      }
      if (target[i + 1] == '0' && target[i + 2] == '0') {
        return "The request's target has a null character.";
      }
    } else if (target[i] == '#') {
      return "The request's target has a fragment.";
    } else if (!target_char(target[i])) {
      return "The request's target has a character that must be escaped.";
    }
  }
  return nullptr;
}

bool is_host(std::string_view host) {
  size_t name_end = host.starts_with('[') ? host.find(']') : host.find(':');
  if (host.starts_with('[')) {
    if (name_end == std::string_view::npos) return false;
    auto inside = host.substr(1, name_end - 1);
    auto allowed = [](char c) { return is_hex(c) || c == ':' || c == '.'; };
    if (inside.empty() || !std::ranges::all_of(inside, allowed)) return false;
    ++name_end;
  } else {
    auto name = host.substr(0, name_end);
    auto allowed = [](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    };
    if (name.empty() || !std::ranges::all_of(name, allowed)) return false;
  }
  if (name_end >= host.size()) return true;
  std::string_view port = host.substr(name_end);
  return port.front() == ':' && port.size() <= 6 && std::ranges::all_of(port.substr(1), is_digit);
}

std::optional<ApiError> check_host(const HttpRequest& request) {
  auto is_host_field = [](const auto& field) { return field.first == "host"; };
  auto count = std::ranges::count_if(request.fields, is_host_field);
  if (count > 1) return http_error(400, "invalid_host", "The request has two Host fields.");
  if (count == 0 && request.minor == 0) return std::nullopt;
  if (count == 0) return http_error(400, "invalid_host", "The request has no Host field.");
  if (is_host(*request.find("host"))) return std::nullopt;
  return http_error(400, "invalid_host", "The Host field must be a host with an optional port.");
}

// Checks Transfer-Encoding: returns no error where it is exactly `chunked`.
std::optional<ApiError> check_coding(std::string_view value) {
  if (same_text(value, "chunked")) return std::nullopt;
  bool known = false;
  for (size_t at = 0; at <= value.size();) {
    size_t end = std::min(value.find(',', at), value.size());
    std::string_view coding = trimmed(value.substr(at, end - at));
    known = coding.empty() || same_text(coding, "chunked");
    if (!known) break;
    at = end + 1;
  }
  if (known) {
    return http_error(400, "invalid_framing",
                      "Transfer-Encoding must be chunked, and appear once.");
  }
  return http_error(501, "unsupported_transfer_encoding",
                    "The only transfer coding that this server supports is chunked.");
}

std::optional<ApiError> read_framing(HttpHead& head) {
  const std::string* length = nullptr;
  const std::string* coding = nullptr;
  for (const auto& [name, value] : head.request.fields) {
    if (name != "content-length" && name != "transfer-encoding") continue;
    if (length || coding) {
      return http_error(400, "invalid_framing",
                        "The request gives the length of its body more than once.");
    }
    (name == "content-length" ? length : coding) = &value;
  }
  if (coding) {
    if (head.request.minor == 0) {
      return http_error(400, "invalid_framing", "HTTP/1.0 does not allow Transfer-Encoding.");
    }
    head.chunked = true;
    return check_coding(*coding);
  }
  if (!length) return std::nullopt;
  auto [end, error] =
      std::from_chars(length->data(), length->data() + length->size(), head.content_length);
  bool whole = end == length->data() + length->size() && !length->empty();
  if (whole && error == std::errc()) return std::nullopt;
  if (std::ranges::all_of(*length, is_digit) && error == std::errc::result_out_of_range) {
    head.content_length = std::numeric_limits<uint64_t>::max();
    return std::nullopt;
  }
  return http_error(400, "invalid_framing", "Content-Length is not a number.");
}

std::optional<ApiError> read_wishes(HttpHead& head) {
  bool keep = head.request.minor == 1, close = false;
  for (const auto& [name, value] : head.request.fields) {
    if (name == "expect" && head.request.minor == 1) {
      if (!same_text(value, "100-continue")) {
        return http_error(417, "expectation_failed",
                          "The only expectation that this server supports is 100-continue.");
      }
      head.expects_continue = true;
    }
    if (name != "connection") continue;
    close = close || has_token(value, "close");
    keep = keep || has_token(value, "keep-alive");
  }
  head.keep_alive = keep && !close;
  return std::nullopt;
}

// Refuses compressed bodies: a small one may unpack to any size.
std::optional<ApiError> check_content_coding(const HttpHead& head) {
  if (!head.has_body()) return std::nullopt;
  for (const auto& [name, value] : head.request.fields) {
    if (name != "content-encoding" || value.empty() || same_text(value, "identity")) continue;
    ApiError error = http_error(415, "unsupported_content_encoding",
                                "The request's body is compressed (Content-Encoding), which this "
                                "server does not support: send it uncompressed.");
    error.fields.emplace_back("Accept-Encoding", "identity");
    return error;
  }
  return std::nullopt;
}

// Splits a target with scheme and host (RFC 9112, 3.2.2), as sent to proxies: its host replaces
// that of the Host field, which must still be valid.
std::optional<ApiError> read_absolute_target(HttpRequest& request) {
  size_t mark = request.path.find("://");
  if (mark == std::string::npos || request.path.starts_with('/')) return std::nullopt;
  std::string scheme = ascii_lower(request.path.substr(0, mark));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  std::string rest = request.path.substr(mark + 3);
  size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string host = rest.substr(0, end);
  if (!is_host(host)) {
    return http_error(400, "invalid_host", "The request's target has no host.");
  }
  request.path = rest.substr(end);
  if (!request.path.starts_with('/')) {
    bool whole_server = request.path.empty() && request.method == "OPTIONS";
    request.path = whole_server ? "*" : "/" + request.path;
  }
  auto field = std::ranges::find(request.fields, "host", &HttpFields::value_type::first);
  if (field == request.fields.end()) {
    request.fields.emplace_back("host", std::move(host));
  } else {
    field->second = std::move(host);
  }
  return std::nullopt;
}

std::optional<ApiError> beast_parse(std::string_view block, HttpRequest& request) {
  HeadParser parser(request);
  parser.eager(false);
  parser.header_limit(std::numeric_limits<uint32_t>::max());
  parser.body_limit(boost::none);
  beast::error_code error;
  parser.put(boost::asio::const_buffer(block.data(), block.size()), error);
  if (!error && parser.is_header_done()) return std::nullopt;
  if (error == http::error::bad_version && other_version(block.substr(0, block.find('\r')))) {
    return http_error(505, "unsupported_version",
                      "This server supports only HTTP/1.1 and HTTP/1.0.");
  }
  std::string message = "The request's header is malformed";
  if (error) message += ": " + error.message();
  return http_error(400, "malformed_request", message + ".");
}

}  // namespace

ApiError http_error(unsigned status, std::string_view code, std::string_view message) {
  ApiError error;
  error.status = status;
  error.type = error_type(status);
  error.code = code;
  error.message = message;
  return error;
}

bool has_token(std::string_view list, std::string_view lower_case_token) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    if (same_text(trimmed(list.substr(at, end - at)), lower_case_token)) return true;
    at = end + 1;
  }
  return false;
}

std::optional<ApiError> parse_head(std::string_view block, HttpHead& head) {
  if (auto refused = beast_parse(block, head.request)) return refused;
  HttpRequest& request = head.request;
  if (request.method.size() > kMethodLetters || !std::ranges::all_of(request.method, is_upper)) {
    return http_error(400, "malformed_request", "The request's method is not valid.");
  }
  if (auto refused = check_host(request)) return refused;
  if (auto refused = read_absolute_target(request)) return refused;
  if (const char* fault = target_fault(request.path, request.method)) {
    return http_error(400, "malformed_request", fault);
  }
  size_t mark = request.path.find('?');
  if (mark != std::string::npos) {
    request.query = request.path.substr(mark + 1);
    request.path.resize(mark);
  }
  if (auto refused = read_framing(head)) return refused;
  if (auto refused = check_content_coding(head)) return refused;
  return read_wishes(head);
}

}  // namespace hearth
