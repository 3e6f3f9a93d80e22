#include "server/guard.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <fstream>

#include "base/ascii.h"
#include "base/byte_order_mark.h"
#include "base/error.h"
#include "server/origin.h"

namespace hearth {
namespace {

std::string_view without_brackets(std::string_view name) {
  bool bracketed = name.size() > 2 && name.front() == '[' && name.back() == ']';
  return bracketed ? name.substr(1, name.size() - 2) : name;
}

// Compares in a time that depends on the length of `given` alone, not on where it differs.
bool same_key(std::string_view known, std::string_view given) {
  size_t differs = known.size() ^ given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    differs |= static_cast<unsigned char>(known[i % known.size()] ^ given[i]);
  }
  return differs == 0;
}

}  // namespace

std::string host_name(std::string_view host) {
  size_t colon = host.rfind(':');
  bool port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return ascii_lower(port ? host.substr(0, colon) : host);
}

bool is_address(std::string_view name) {
  bool bracketed = without_brackets(name).size() != name.size();
  boost::system::error_code error;
  auto address = boost::asio::ip::make_address(without_brackets(name), error);
  return !error && address.is_v6() == bracketed;
}

bool is_loopback(std::string_view host) {
  if (ascii_lower(host) == "localhost") return true;
  boost::system::error_code error;
  auto address = boost::asio::ip::make_address(without_brackets(host), error);
  return !error && address.is_loopback();
}

Guard::Guard(std::vector<std::string> keys, std::vector<std::string> names,
             std::string_view listens_at, std::vector<std::string> origins)
    : keys_(std::move(keys)),
      names_(std::move(names)),
      listens_at_(host_name(listens_at)),
      origins_(std::move(origins)) {
  for (std::string& name : names_) name = host_name(name);
}

// Compares the key with all known ones, so that the time does not show which one matches.
size_t Guard::number_of(std::string_view key) const {
  size_t number = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    number = std::max(number, (i + 1) * static_cast<size_t>(same_key(keys_[i], key)));
  }
  return number;
}

// Looks at all of the request's keys: clients may send another server's key besides the right one.
size_t Guard::number_of_key(const HttpRequest& request) const {
  constexpr std::string_view kBearer = "bearer ";
  size_t number = 0;
  const std::string* authorization = request.find("authorization");
  if (authorization != nullptr && authorization->size() > kBearer.size() &&
      ascii_lower(std::string_view(*authorization).substr(0, kBearer.size())) == kBearer) {
    number = number_of(std::string_view(*authorization).substr(kBearer.size()));
  }
  const std::string* key = request.find("x-api-key");
  return number > 0 || key == nullptr ? number : number_of(*key);
}

bool Guard::knows_key(const HttpRequest& request) const {
  return !needs_key() || number_of_key(request) > 0;
}

std::string Guard::client_of(const HttpRequest& request) const {
  size_t number = needs_key() ? number_of_key(request) : 0;
  return number > 0 ? "key " + std::to_string(number) : request.client;
}

bool Guard::knows_host(const HttpRequest& request) const {
  const std::string* host = request.find("host");
  if (host == nullptr) return true;  // HTTP/1.0, which no browser uses
  std::string name = host_name(*host);
  return name == "localhost" || is_address(name) || (!name.empty() && name == listens_at_) ||
         std::ranges::count(names_, name) > 0;
}

bool Guard::allows(std::string_view origin) const {
  if (origins_.empty()) return false;
  if (std::ranges::count(origins_, "*") > 0 || std::ranges::count(origins_, origin) > 0)
    return true;
  std::optional<WebOrigin> given = parse_origin(origin);
  return given && std::ranges::any_of(origins_, [&](const std::string& allowed) {
           return parse_origin(allowed) == given;
         });
}

// Whether the page at `origin` is the server's own. A proxy may set its own Host and end TLS, so
// the port and scheme that the browser used are unknown here. So a page at one of the operator's
// names is accepted at every port, and a Host without a port gets the default port of the page's
// scheme.
bool Guard::own_page(std::string_view origin, const HttpRequest& request) const {
  std::optional<WebOrigin> page = parse_origin(origin);
  if (!page || !page->of_web()) return false;
  if (std::ranges::count(names_, page->host) > 0) return true;
  const std::string* host = request.find("host");
  return host != nullptr && origin_of_host(page->scheme, *host) == page;
}

bool Guard::from_elsewhere(const HttpRequest& request) const {
  const std::string* origin = request.find("origin");
  if (origin == nullptr || allows(*origin) || own_page(*origin, request)) return false;
  return !needs_key() || !knows_key(request);
}

HttpFields Guard::cors_fields(const HttpRequest& request) const {
  if (origins_.empty()) return {};
  HttpFields fields = {{"Vary", "Origin"}};
  const std::string* origin = request.find("origin");
  if (origin == nullptr || !allows(*origin)) return fields;
  fields.emplace_back("Access-Control-Allow-Origin", *origin);
  fields.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  return fields;
}

std::optional<HttpReply> Guard::preflight(const HttpRequest& request) const {
  const std::string* origin = request.find("origin");
  if (request.method != "OPTIONS" || origin == nullptr || !allows(*origin) ||
      request.find("access-control-request-method") == nullptr) {
    return {};
  }
  HttpReply reply{.status = 204, .content_type = ""};
  reply.fields.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
  // Any header field that a page wants to send is allowed: client libraries have their own, and
  // none affects what Guard allows.
  const std::string* fields = request.find("access-control-request-headers");
  reply.fields.emplace_back("Access-Control-Allow-Headers",
                            fields ? *fields : "Authorization, Content-Type, X-Api-Key");
  reply.fields.emplace_back("Access-Control-Max-Age", "600");
  if (request.find("access-control-request-private-network") != nullptr) {
    reply.fields.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  return reply;
}

std::vector<std::string> read_keys(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    fail(ErrorCode::kFile, "cannot read '{}': it must be a file with one API key a line", path);
  std::vector<std::string> keys;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    if (++number == 1) line = std::string(without_byte_order_mark(line));
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    auto visible = [](char c) { return c > ' ' && c < 0x7f; };
    if (!std::ranges::all_of(line, visible)) {
      fail(ErrorCode::kFile,
           "'{}', line {}: an API key must consist of visible ASCII characters without spaces",
           path, number);
    }
    keys.push_back(line);
  }
  if (file.bad()) fail(ErrorCode::kFile, "cannot read '{}' to its end", path);
  if (keys.empty())
    fail(ErrorCode::kFile, "'{}' has no API key: put each on a line of its own", path);
  return keys;
}

}  // namespace hearth
