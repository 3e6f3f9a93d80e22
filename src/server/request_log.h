// RequestLog writes a line for every request, of what was asked by whom, how it ended and how long
// it took, never of what was said: prompts and texts are nobody else's business. Lines are written
// by a thread of spdlog's, and nobody else waits for whoever reads them: where they come faster
// than they can be written the oldest are dropped, and the next line that is written tells how
// many.
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

// The status that is logged for a request whose client left before its answer; nginx has the same.
inline constexpr unsigned kClientClosedRequest = 499;

struct LogEntry {
  std::string id, peer, method, path;
  unsigned status = 0;
  double seconds = 0;  // from its head to the end of its answer
  // Counts of requests for text; those for embeddings have prompt_tokens alone.
  std::optional<uint64_t> prompt_tokens = {}, cached_tokens = {}, generated_tokens = {};
  std::optional<double> queue_seconds = {}, first_token_seconds = {};
  std::optional<double> tokens_per_second = {};  // that were generated, after the first
  std::string finish = {};   // "stop", "length", "cancelled", or an error's code
  std::string relaxed = {};  // what was left out of the schemas of tools; printable
  std::string trace = {};    // traceparent (W3C Trace Context), where it is one
};

// Makes the entry of a request that ends now.
LogEntry log_entry(const HttpRequest& request, unsigned status);

// "127.0.0.1 POST /v1/completions 200 1.203 s, 12 + 64 tokens ... stop [ID]"
std::string log_line(const LogEntry& entry);
// Returns the line as one JSON object.
std::string log_json(const LogEntry& entry);

inline constexpr double kTroubleSeconds = 10;

class RequestLog {
 public:
  enum class Form : uint8_t { kNone, kText, kJson };

  // Writes to `fd`, which is not closed.
  explicit RequestLog(Form form, int fd = STDERR_FILENO);
  // Writes what is left, as far as that is read within a second.
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Any thread may write. Never waits, and throws nothing: where memory is short a line is lost.
  void write(const LogEntry& entry) noexcept;
  // Something was thrown that no request was told of. A line each for shortage of memory and for
  // all else, at once and then every kTroubleSeconds at most, with the number of times so far.
  void write_trouble(const std::exception& thrown) noexcept;

 private:
  class Sink;
  struct Trouble {
    std::atomic<uint64_t> times = 0;
    std::atomic<double> told_seconds = -kTroubleSeconds;
  };
  void tell_trouble(std::string_view kind, uint64_t times, const std::exception& thrown);

  Form form_;
  Trouble shortages_, others_;
  std::shared_ptr<spdlog::details::thread_pool> writers_;
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace hearth
