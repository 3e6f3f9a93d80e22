#include "http/reply.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace hearth {
namespace {

constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Appends a header field. Control characters become spaces, so that a value from outside cannot
// begin another field or a body.
void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    out.push_back(byte < 0x20 || byte == 0x7f ? ' ' : c);
  }
  out += "\r\n";
}

void append_start(std::string& out, unsigned status, const AnsweredRequest& answered,
                  std::string_view date) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", status, status_text(status));
  append_field(out, "Date", date);
  append_field(out, "X-Request-Id", answered.id);
  for (const auto& [name, value] : answered.fields) append_field(out, name, value);
  if (!answered.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (answered.minor == 0) {
    append_field(out, "Connection", "keep-alive");
  }
}

}  // namespace

const std::string& DateText::now() {
  std::time_t second = std::time(nullptr);
  if (second == second_) return text_;
  second_ = second;
  std::tm parts{};
  gmtime_r(&second, &parts);
  text_ = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                      kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                      parts.tm_sec);
  return text_;
}

std::string reply_bytes(const HttpReply& reply, const AnsweredRequest& answered,
                        std::string_view date) {
  bool bodiless = reply.status == 204 || reply.status == 304;
  std::string out;
  out.reserve(512 + reply.body.size());
  append_start(out, reply.status, answered, date);
  if (!bodiless) {
    if (!reply.content_type.empty()) append_field(out, "Content-Type", reply.content_type);
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", reply.body.size());
  }
  for (const auto& [name, value] : reply.fields) append_field(out, name, value);
  out += "\r\n";
  if (!bodiless && !answered.head_only) out += reply.body;
  return out;
}

std::string events_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date) {
  std::string out;
  append_start(out, 200, answered, date);
  const bool lines = answered.dialect == HttpDialect::kLines;
  append_field(out, "Content-Type", lines ? "application/x-ndjson" : "text/event-stream");
  append_field(out, "Cache-Control", "no-cache");
  if (answered.minor == 1) append_field(out, "Transfer-Encoding", "chunked");
  for (const auto& [name, value] : fields) append_field(out, name, value);
  return out += "\r\n";
}

std::string pieces_head(const HttpFields& fields, const AnsweredRequest& answered,
                        std::string_view date) {
  std::string out;
  append_start(out, 200, answered, date);
  for (const auto& [name, value] : fields) append_field(out, name, value);
  if (answered.minor == 1) append_field(out, "Transfer-Encoding", "chunked");
  return out += "\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes).append("\r\n");
}

}  // namespace hearth
