#include "http/request.h"

#include <algorithm>
#include <array>

namespace hearth {
namespace {

constexpr std::array<std::pair<unsigned, std::string_view>, 28> kStatusTexts = {{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
}};

}  // namespace

const std::string* HttpRequest::find(std::string_view lower_case_name) const {
  auto found = std::ranges::find(fields, lower_case_name, &HttpFields::value_type::first);
  return found == fields.end() ? nullptr : &found->second;
}

std::string_view status_text(unsigned status) {
  auto found =
      std::ranges::find(kStatusTexts, status, &std::pair<unsigned, std::string_view>::first);
  return found == kStatusTexts.end() ? "Unknown" : found->second;
}

}  // namespace hearth
