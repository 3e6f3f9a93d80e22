// RequestLog writes a line for every request: who asked for what, how it ended and how long it
// took. Prompts and texts are never logged. A thread of spdlog writes the lines, so nothing else
// waits for the log's reader. If lines come faster than they can be written, the oldest are
// dropped, and the next line tells their number.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/request.h"

namespace spdlog {
class async_logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace hearth {

// The status logged for a request whose client left before the answer, as in nginx.
inline constexpr unsigned kClientClosedRequest = 499;

struct LogEntry {
  std::string id, peer, method, path;
  unsigned status = 0;
  double seconds = 0;  // from its head to the end of its answer
  // Counts and times of a request for text; a request for embeddings has only prompt_tokens.
  std::optional<uint64_t> prompt_tokens = {}, cached_tokens = {}, generated_tokens = {};
  std::optional<double> queue_seconds = {}, first_token_seconds = {};
  std::optional<double> tokens_per_second = {};  // generated after the first token
  std::string finish = {};   // "stop", "length", "cancelled", or an error's code
  std::string relaxed = {};  // parts of tools' schemas left out; printable
  std::string trace = {};    // traceparent (W3C Trace Context), if valid
};

// Returns the entry of a request that ends now.
LogEntry log_entry(const HttpRequest& request, unsigned status);

// Returns the line: "127.0.0.1 POST /v1/completions 200 1.203 s, 12 + 64 tokens ... stop [ID]".
std::string log_line(const LogEntry& entry);
// Returns the line as a JSON object.
std::string log_json(const LogEntry& entry);

inline constexpr double kTroubleSeconds = 10;

class RequestLog {
 public:
  enum class Form : uint8_t { kNone, kText, kJson };

  // Writes to `fd`, which stays open.
  explicit RequestLog(Form form, int fd = STDERR_FILENO);
  // Writes the lines left, if they can be written within a second.
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Writes a line. Any thread may call it; it never waits or throws. Where memory is short the line
  // is lost.
  void write(const LogEntry& entry) noexcept;
  // Writes a line on an exception that belongs to no request. Shortage of memory and all other
  // errors are counted apart: each gets a line at once, then at most one every kTroubleSeconds with
  // its count so far.
  void write_trouble(const std::exception& thrown) noexcept;

 private:
  class Sink;
  struct Trouble {
    std::atomic<uint64_t> times = 0;
    std::atomic<double> logged_seconds = -kTroubleSeconds;
  };
  void log_trouble(std::string_view kind, uint64_t times, const std::exception& thrown);

  Form form_;
  Trouble shortages_, others_;
  std::shared_ptr<spdlog::details::thread_pool> writers_;
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace hearth
