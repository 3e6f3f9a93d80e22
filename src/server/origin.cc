#include "server/origin.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"

namespace hearth {
namespace {

bool is_scheme(std::string_view text) {
  auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, allowed);
}

bool is_origin_host(std::string_view text) {
  bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = text.substr(1, text.size() - 2);
  auto allowed = [&](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
           (bracketed && c == ':');
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

std::string_view default_port(std::string_view scheme) {
  if (scheme == "http" || scheme == "ws") return "80";
  return scheme == "https" || scheme == "wss" ? "443" : "";
}

}  // namespace

WebOrigin origin_of_host(std::string_view scheme, std::string_view host) {
  WebOrigin origin{ascii_lower(scheme), ascii_lower(host), ""};
  size_t colon = origin.host.rfind(':');
  bool port = colon != std::string::npos && origin.host.find(']', colon) == std::string::npos;
  if (!port) return origin;
  origin.port = origin.host.substr(colon + 1);
  origin.host.resize(colon);
  if (origin.port == default_port(origin.scheme)) origin.port.clear();
  return origin;
}

std::optional<WebOrigin> parse_origin(std::string_view text) {
  constexpr std::string_view kMark = "://";
  size_t mark = text.find(kMark);
  if (mark == std::string_view::npos || !is_scheme(text.substr(0, mark))) return {};
  WebOrigin origin = origin_of_host(text.substr(0, mark), text.substr(mark + kMark.size()));
  bool number = origin.port.size() <= 5 && std::ranges::all_of(origin.port, is_digit);
  if (!number || !is_origin_host(origin.host)) return {};
  return origin;
}

std::string origin_option(const std::string& text) {
  if (text == "*" || text == "null") return text;
  std::string_view bare = text;
  if (bare.ends_with('/')) bare.remove_suffix(1);
  std::optional<WebOrigin> origin = parse_origin(bare);
  if (!origin) {
    fail(ErrorCode::kUsage,
         "--allow-origin {} is not an origin: give SCHEME://HOST or SCHEME://HOST:PORT without a "
         "path, `null`, or `*` for every one",
         text);
  }
  std::string port = origin->port.empty() ? "" : ":" + origin->port;
  return origin->scheme + "://" + origin->host + port;
}

}  // namespace hearth
