// The origin of a web page as a browser sends it (RFC 6454): scheme, host and port, or "null" where
// the browser keeps it secret. The scheme's default port is the same as none: "https://a:443" is
// "https://a". Programs that are no browser send origins of the same form ("tauri://localhost",
// "chrome-extension://ID").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct WebOrigin {
  std::string scheme, host;  // lower case; IPv6 in brackets
  std::string port;          // empty: none, or the scheme's default

  bool of_web() const { return scheme == "http" || scheme == "https"; }
  bool operator==(const WebOrigin&) const = default;
};

// Returns the origin; nothing where the text is none, such as "null".
std::optional<WebOrigin> parse_origin(std::string_view text);

// Returns the origin of pages at a Host field's host and port under this scheme.
WebOrigin origin_of_host(std::string_view scheme, std::string_view host);

// Reads the value of --allow-origin and returns it as browsers send it: an origin (with or without
// a "/" at its end), "null", or "*" for all origins. Throws (kUsage) where it is none of these.
std::string origin_option(const std::string& text);

}  // namespace hearth
