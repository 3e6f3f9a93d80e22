#include "server/api_error.h"

#include <string_view>

#include "text/json.h"

namespace hearth {
namespace {

// A byte may take six in JSON ("\u0001").
constexpr size_t kMostMessage = 480, kMostParam = 160;
constexpr size_t kMostBody = 1023;

std::string clipped(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string body_of(const ApiError& error, size_t message, size_t param) {
  std::optional<std::string> name;
  if (error.param) name = clipped(*error.param, param);
  Json json;
  json.object().key("error").object();
  json.key("message").text(clipped(error.message, message)).key("type").text(error.type);
  json.key("param").text_or_null(name).key("code").text(error.code);
  json.end_object().end_object();
  std::string line = json.line();
  line.pop_back();
  return line;
}

}  // namespace

std::string error_body(const ApiError& error) {
  std::string body = body_of(error, kMostMessage, kMostParam);
  return body.size() <= kMostBody ? body : body_of(error, kMostMessage / 6, kMostParam / 6);
}

}  // namespace hearth
