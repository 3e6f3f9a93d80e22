#include "grammar/schema_uri.h"

#include <cctype>
#include <charconv>

namespace hearth {
namespace {

struct UriParts {
  std::string_view scheme;     // with its ':'
  std::string_view authority;  // with the "//" before it
  std::string_view path;
  std::string_view query;  // with its '?'
};

size_t scheme_length(std::string_view uri) {
  if (uri.empty() || std::isalpha(static_cast<unsigned char>(uri[0])) == 0) return 0;
  for (size_t at = 1; at < uri.size(); ++at) {
    const auto c = static_cast<unsigned char>(uri[at]);
    if (c == ':') return at + 1;
    if (std::isalnum(c) == 0 && c != '+' && c != '-' && c != '.') return 0;
  }
  return 0;
}

UriParts split_uri(std::string_view uri) {
  UriParts parts;
  uri = uri.substr(0, uri.find('#'));
  const size_t query = std::min(uri.find('?'), uri.size());
  parts.query = uri.substr(query);
  uri = uri.substr(0, query);
  parts.scheme = uri.substr(0, scheme_length(uri));
  uri.remove_prefix(parts.scheme.size());
  if (uri.starts_with("//")) {
    parts.authority = uri.substr(0, std::min(uri.find('/', 2), uri.size()));
    uri.remove_prefix(parts.authority.size());
  }
  parts.path = uri;
  return parts;
}

// Removes "." and ".." segments (section 5.2.4).
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const bool slash = path.front() == '/';
    const size_t end = std::min(path.find('/', slash ? 1 : 0), path.size());
    const std::string_view name = path.substr(slash ? 1 : 0, end - (slash ? 1 : 0));
    const bool last = end == path.size();
    if (name == "..") {
      out.erase(std::min(out.find_last_of('/'), out.size()));
      if (last) out += '/';
    } else if (name != ".") {
      out += path.substr(0, end);
    } else if (last) {
      out += '/';
    }
    path.remove_prefix(end);
  }
  return out;
}

std::string merged_path(const UriParts& base, std::string_view path) {
  if (path.starts_with('/')) return without_dots(path);
  if (base.path.empty() && !base.authority.empty()) return without_dots("/" + std::string(path));
  const std::string_view folder = base.path.substr(0, base.path.find_last_of('/') + 1);
  return without_dots(std::string(folder) + std::string(path));
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const UriParts from = split_uri(base);
  const UriParts to = split_uri(reference);
  std::string out;
  auto join = [&](std::string_view scheme, std::string_view authority, std::string_view path,
                  std::string_view query) {
    return out.append(scheme).append(authority).append(path).append(query);
  };
  if (!to.scheme.empty()) return join(to.scheme, to.authority, to.path, to.query);
  if (!to.authority.empty()) return join(from.scheme, to.authority, to.path, to.query);
  if (to.path.empty()) {
    return join(from.scheme, from.authority, from.path, to.query.empty() ? from.query : to.query);
  }
  return join(from.scheme, from.authority, merged_path(from, to.path), to.query);
}

std::string uri_fragment(std::string_view reference) {
  const size_t mark = reference.find('#');
  std::string out;
  if (mark == std::string_view::npos) return out;
  for (std::string_view rest = reference.substr(mark + 1); !rest.empty();) {
    unsigned char byte = 0;
    if (rest[0] == '%' && rest.size() > 2 &&
        std::from_chars(rest.data() + 1, rest.data() + 3, byte, 16).ptr == rest.data() + 3) {
      out += static_cast<char>(byte);
      rest.remove_prefix(3);
    } else {
      out += rest[0];
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace hearth
