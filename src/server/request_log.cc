#include "server/request_log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/shortage.h"
#include "base/tell.h"

namespace hearth {
namespace {

constexpr size_t kLinesWaiting = 8192;
// Milliseconds between checks whether the log is ending, while a line waits for its reader.
constexpr int kLookMilliseconds = 50;
// Seconds that the last lines, all together, wait for their reader.
constexpr double kLastSeconds = 1;

// Replaces all but visible ASCII by '?': clients choose the path, and nothing in it may end the
// line or move a terminal's cursor.
std::string visible(const std::string& text) {
  std::string out;
  for (char c : text) out += c > ' ' && c < 0x7f ? c : '?';
  return out;
}

// Whether a text is a traceparent (W3C Trace Context): version, trace id, span id and flags.
bool is_traceparent(std::string_view text) {
  constexpr std::string_view kForm = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kForm[i] == 'x' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

std::string lost_text(RequestLog::Form form, uint64_t lines) {
  if (form == RequestLog::Form::kJson) {
    return Json().object().key("lost_lines").number(lines).end_object().line();
  }
  return fmt::format("hearth: {} line{} of this log {} lost: {} could not be written in time\n",
                     lines, lines == 1 ? "" : "s", lines == 1 ? "was" : "were",
                     lines == 1 ? "it" : "they");
}

}  // namespace

// Writes the lines on spdlog's one thread. A line waits for its reader (a pipe that is full), and
// later lines wait in the queue. Lines that the queue drops or that cannot be written are counted,
// and the next line is preceded by their number.
class RequestLog::Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // `overrun` returns the number of lines that the queue has dropped.
  Sink(Form form, int fd, std::function<size_t()> overrun)
      : form_(form), fd_(fd), overrun_(std::move(overrun)) {}

  // Limits the time that further lines wait for their reader to kLastSeconds in total.
  void end() { last_ = steady_seconds() + kLastSeconds; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const uint64_t lost = unwritten_ + overrun_() - reported_;
    if (lost > 0 && write(lost_text(form_, lost))) reported_ += lost;
    if (!write({line.data(), line.size()})) ++unwritten_;
  }
  void flush_() override {}

 private:
  // Writes a text and returns whether all of it was written.
  bool write(std::string_view text) {
    // A newline first ends a line that was cut, so that this one does not become part of it.
    std::string whole = torn_ ? "\n" : "";
    whole += text;
    std::string_view rest = whole;
    WriteEnd end;
    while ((end = write_now(fd_, &rest)) == WriteEnd::kFull && steady_seconds() < last_) {
      wait_writable(fd_, kLookMilliseconds);
    }
    if (rest.size() < whole.size()) torn_ = end != WriteEnd::kAll;
    return end == WriteEnd::kAll;
  }

  const Form form_;
  const int fd_;
  const std::function<size_t()> overrun_;
  std::atomic<double> last_ = std::numeric_limits<double>::infinity();
  uint64_t unwritten_ = 0, reported_ = 0;
  bool torn_ = false;
};

LogEntry log_entry(const HttpRequest& request, unsigned status) {
  LogEntry entry;
  entry.id = request.id;
  entry.peer = request.peer;
  entry.method = request.method;
  entry.path = request.path;
  entry.status = status;
  entry.seconds = steady_seconds() - request.received_seconds;
  const std::string* trace = request.find("traceparent");
  if (trace != nullptr && is_traceparent(*trace)) entry.trace = *trace;
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
  if (entry.tokens_per_second) {
    line += fmt::format(", {:.1f} tokens/s", *entry.tokens_per_second);
  }
  if (!entry.finish.empty()) line += ", " + entry.finish;
  if (!entry.relaxed.empty()) line += ", not held: " + entry.relaxed;
  if (!entry.trace.empty()) line += ", trace " + entry.trace;
  return line + fmt::format(" [{}]", entry.id);
}

std::string log_json(const LogEntry& entry) {
  Json json;
  json.object().key("id").text(entry.id).key("peer").text(entry.peer);
  json.key("method").text(entry.method).key("path").text(entry.path);
  json.key("status").number(uint64_t{entry.status}).key("seconds").real(entry.seconds);
  auto number = [&](const char* key, const std::optional<uint64_t>& value) {
    if (value) json.key(key).number(*value);
  };
  auto real = [&](const char* key, const std::optional<double>& value) {
    if (value) json.key(key).real(*value);
  };
  number("prompt_tokens", entry.prompt_tokens);
  number("cached_tokens", entry.cached_tokens);
  number("generated_tokens", entry.generated_tokens);
  real("queue_seconds", entry.queue_seconds);
  real("first_token_seconds", entry.first_token_seconds);
  real("tokens_per_second", entry.tokens_per_second);
  if (!entry.finish.empty()) json.key("finish").text(entry.finish);
  if (!entry.trace.empty()) json.key("traceparent").text(entry.trace);
  if (!entry.relaxed.empty()) json.key("relaxed").text(entry.relaxed);
  json.end_object();
  std::string line = json.line();
  line.pop_back();  // the logger adds a newline
  return line;
}

RequestLog::RequestLog(Form form, int fd) : form_(form) {
  if (form == Form::kNone) return;
  writers_ = std::make_shared<spdlog::details::thread_pool>(kLinesWaiting, 1);
  sink_ = std::make_shared<Sink>(form, fd,
                                 [writers = writers_.get()] { return writers->overrun_counter(); });
  logger_ = std::make_shared<spdlog::async_logger>("requests", sink_, writers_,
                                                   spdlog::async_overflow_policy::overrun_oldest);
  logger_->set_pattern(form == Form::kText ? "%Y-%m-%dT%H:%M:%S.%e%z %v" : "%v");
  // spdlog's own handler would print errors to standard error, and wait for that.
  logger_->set_error_handler([](const std::string&) {});
}

RequestLog::~RequestLog() {
  if (sink_) sink_->end();
}

void RequestLog::write(const LogEntry& entry) noexcept {
  if (form_ == Form::kNone) return;
  try {
    logger_->info("{}", form_ == Form::kText ? log_line(entry) : log_json(entry));
  } catch (const std::exception&) {
    // The line is lost, as when the queue is full.
  }
}

void RequestLog::write_trouble(const std::exception& thrown) noexcept {
  bool shortage = is_shortage(thrown);
  Trouble& trouble = shortage ? shortages_ : others_;
  uint64_t times = ++trouble.times;
  double now = steady_seconds(), logged = trouble.logged_seconds;
  if (form_ == Form::kNone || now < logged + kTroubleSeconds) return;
  if (!trouble.logged_seconds.compare_exchange_strong(logged, now))
    return;  // another thread writes it
  try {
    log_trouble(shortage ? "no_memory" : "internal_error", times, thrown);
  } catch (const std::exception&) {
    trouble.logged_seconds = logged;  // so that the next one is written
  }
}

void RequestLog::log_trouble(std::string_view kind, uint64_t times, const std::exception& thrown) {
  if (form_ == Form::kText) {
    logger_->warn("error {} in the server, {} times so far; the last: {}", kind, times,
                  printable(thrown.what()));
    return;
  }
  Json json;
  json.object().key("trouble").text(kind).key("times").number(times);
  json.key("last").text(thrown.what()).end_object();
  std::string line = json.line();
  line.pop_back();
  logger_->warn("{}", line);
}

}  // namespace hearth
