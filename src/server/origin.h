// The origin of a web page as a browser sends it (RFC 6454): scheme, host and port, or "null" for
// one that it does not tell. A default port equals none: "https://a:443" is "https://a". Origins of
// programs that are no browser ("tauri://localhost", "chrome-extension://ID") have the same form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct WebOrigin {
  std::string scheme, host;  // in lower case; an IPv6 address has its brackets
  std::string port;          // empty: none, or the scheme's default

  bool of_web() const { return scheme == "http" || scheme == "https"; }
  bool operator==(const WebOrigin&) const = default;
};

// Returns the origin; none where the text is no origin, as "null" is none.
std::optional<WebOrigin> parse_origin(std::string_view text);

// The host and the port that a Host field names, as the scheme has them.
WebOrigin origin_of_host(std::string_view scheme, std::string_view host);

// Reads the value of --allow-origin and returns it in the form that browsers send: an origin, with
// or without a "/" behind it, "null", or "*" for every origin. Throws (kUsage) where it is none of
// these.
std::string origin_option(const std::string& text);

}  // namespace hearth
