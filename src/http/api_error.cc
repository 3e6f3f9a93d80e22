#include "http/api_error.h"

#include <algorithm>

#include "base/json.h"

namespace hearth {
namespace {

// Returns a text's first `most` bytes with "..." after them, cut between characters. Bytes that are
// no UTF-8 become U+FFFD when they are written.
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most) + "...";
}

std::string write_error(const ApiError& error, HttpDialect dialect, size_t most) {
  Json json;
  json.object().key("error");
  if (dialect == HttpDialect::kLines) {
    json.text(shortened(error.message, most));
  } else {
    json.object();
    json.key("message").text(shortened(error.message, most));
    json.key("type").text(error.type.empty() ? error_type(error.status) : error.type);
    json.key("param");
    if (error.param) {
      json.text(shortened(*error.param, most / 4));
    } else {
      json.null();
    }
    json.key("code").text(error.code);
    json.end_object();
  }
  std::string line = json.end_object().line();
  line.pop_back();
  return line;
}

}  // namespace

std::string_view error_type(unsigned status) {
  if (status == 401 || status == 403) return "authentication_error";
  if (status == 404) return "not_found_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string error_body(const ApiError& error, HttpDialect dialect) {
  // The message is cut until the body fits: a character may take six bytes in JSON.
  size_t most = 800;
  std::string body = write_error(error, dialect, most);
  while (body.size() > kErrorBytes && most > 0) {
    most /= 2;
    body = write_error(error, dialect, most);
  }
  return body;
}

HttpReply error_reply(const ApiError& error, HttpDialect dialect) {
  HttpReply reply;
  reply.status = error.status;
  reply.fields = error.fields;
  reply.body = error_body(error, dialect) + "\n";
  return reply;
}

std::string streamed_error(const ApiError& error, HttpDialect dialect) {
  std::string body = error_body(error, dialect);
  return dialect == HttpDialect::kLines ? body + "\n" : "data: " + body + "\n\n";
}

ShortageWords::ShortageWords(HttpDialect dialect)
    : error{503, "", "no_memory", "not enough memory for this request: ask for less"},
      reply(error_reply(error, dialect)),
      event(streamed_error(error, dialect)) {}

const ShortageWords& shortage_words(HttpDialect dialect) {
  static const ShortageWords kOfEvents(HttpDialect::kEvents), kOfLines(HttpDialect::kLines);
  return dialect == HttpDialect::kLines ? kOfLines : kOfEvents;
}

}  // namespace hearth
