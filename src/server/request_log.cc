#include "server/request_log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/clock.h"
#include "text/json.h"

namespace hearth {
namespace {

constexpr size_t kLinesWaiting = 8192;

// A path is a stranger's text: nothing in it may end the line or move a terminal's cursor.
std::string visible(const std::string& text) {
  std::string out;
  for (char c : text) out += c > ' ' && c < 0x7f ? c : '?';
  return out;
}

}  // namespace

LogEntry log_entry(const HttpRequest& request, unsigned status) {
  LogEntry entry;
  entry.id = request.id;
  entry.peer = request.peer;
  entry.method = request.method;
  entry.path = request.path;
  entry.status = status;
  entry.seconds = steady_seconds() - request.received_seconds;
  return entry;
}

std::string log_line(const LogEntry& entry) {
  std::string line = fmt::format("{} {} {} {} {:.3f} s", entry.peer, visible(entry.method),
                                 visible(entry.path), entry.status, entry.seconds);
  if (entry.prompt_tokens && entry.generated_tokens) {
    line += fmt::format(", {} ({} cached) + {} tokens", *entry.prompt_tokens,
                        entry.cached_tokens.value_or(0), *entry.generated_tokens);
  } else if (entry.prompt_tokens) {
    line += fmt::format(", {} tokens", *entry.prompt_tokens);
  }
  if (entry.queue_seconds) line += fmt::format(", queued {:.3f} s", *entry.queue_seconds);
  if (entry.first_token_seconds) {
    line += fmt::format(", first token {:.3f} s", *entry.first_token_seconds);
  }
  if (!entry.finish.empty()) line += ", " + entry.finish;
  return line + fmt::format(" [{}]", entry.id);
}

std::string log_json(const LogEntry& entry) {
  Json json;
  json.object().key("id").text(entry.id).key("peer").text(entry.peer);
  json.key("method").text(entry.method).key("path").text(entry.path);
  json.key("status").number(uint64_t{entry.status}).key("seconds").real(entry.seconds);
  json.key("prompt_tokens").number(entry.prompt_tokens);
  json.key("cached_tokens").number(entry.cached_tokens);
  json.key("generated_tokens").number(entry.generated_tokens);
  json.key("queue_seconds").real(entry.queue_seconds);
  json.key("first_token_seconds").real(entry.first_token_seconds);
  json.key("finish").text(entry.finish).end_object();
  std::string line = json.line();
  line.pop_back();  // the logger ends the line
  return line;
}

RequestLog::RequestLog(Form form) : form_(form) {
  if (form == Form::kNone) return;
  writers_ = std::make_shared<spdlog::details::thread_pool>(kLinesWaiting, 1);
  logger_ = std::make_shared<spdlog::async_logger>(
      "requests", std::make_shared<spdlog::sinks::stderr_sink_mt>(), writers_,
      spdlog::async_overflow_policy::overrun_oldest);
  logger_->set_pattern(form == Form::kText ? "%Y-%m-%dT%H:%M:%S.%e%z %v" : "%v");
}

RequestLog::~RequestLog() = default;

void RequestLog::write(const LogEntry& entry) {
  if (form_ == Form::kNone) return;
  logger_->info("{}", form_ == Form::kText ? log_line(entry) : log_json(entry));
}

}  // namespace hearth
