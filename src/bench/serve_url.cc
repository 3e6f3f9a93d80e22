#include "bench/serve_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace hearth {
namespace {

bool can_stand_in_url(char c) { return c > ' ' && c < 127; }

bool is_port(std::string_view text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && stop == end && port != 0;
}

// Returns whether the text is a host, in brackets if it is an IPv6 address, with or without a port.
bool is_authority(std::string_view text) {
  size_t end = std::min(text.starts_with('[') ? text.find(']') : text.rfind(':'), text.size());
  if (text.starts_with('[')) {
    if (end == text.size() || end == 1) return false;
    ++end;
  }
  std::string_view host = text.substr(0, end), port = text.substr(end);
  if (host.empty() || host.find('@') != host.npos) return false;
  return port.empty() || (port[0] == ':' && is_port(port.substr(1)));
}

}  // namespace

ServeUrl parse_serve_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    fail(ErrorCode::kUsage, "--serve '{}': only http is supported; give the server's http address",
         url);
  }
  if (!url.starts_with(kScheme) || !std::ranges::all_of(url, can_stand_in_url)) {
    fail(ErrorCode::kUsage, "--serve '{}' is not an address such as http://127.0.0.1:8080", url);
  }
  std::string_view rest = std::string_view(url).substr(kScheme.size());
  ServeUrl out;
  size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  out.authority = rest.substr(0, slash);
  out.base = rest.substr(slash);
  if (!is_authority(out.authority) || out.base.find_first_of("?#") != std::string::npos) {
    fail(ErrorCode::kUsage, "--serve '{}' is not an address such as http://127.0.0.1:8080", url);
  }
  while (out.base.ends_with('/')) out.base.pop_back();
  if (out.base.ends_with("/v1")) out.base.resize(out.base.size() - 3);
  return out;
}

ClientRequest serve_request(const ServeUrl& url, std::string_view path, std::string_view key,
                            std::optional<std::string> body) {
  ClientRequest request{fmt::format("{}{}{}", url.origin(), url.base, path)};
  request.fields = {"Connection: close"};
  if (!key.empty()) request.fields.push_back(fmt::format("Authorization: Bearer {}", key));
  request.fields.push_back(body ? "Accept: text/event-stream" : "Accept: application/json");
  if (body) request.fields.push_back("Content-Type: application/json");
  request.body = std::move(body);
  return request;
}

}  // namespace hearth
