// Completions: the requests for text that are under way, and how many there may be. Used by the
// reactor's thread, but for start() of a RequestWorker's part.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_set>

#include "server/app_metrics.h"
#include "server/completion_request.h"
#include "server/http_server.h"
#include "server/request_log.h"
#include "server/request_worker.h"
#include "server/served_model.h"

namespace hearth {

class Completion;

struct CompletionOptions {
  RequestLimits limits;
  uint32_t max_running = 16;  // texts that are generated at the same time
  uint32_t max_queue = 64;    // texts that may wait for a place
  // A stream whose client lets it wait so long loses its places where others want them.
  double stall_seconds = 5;
};

class Completions {
 public:
  // All outlive it; the worker must have ended before it dies.
  Completions(const CompletionOptions& options, HttpServer& server, RequestWorker& worker,
              RequestLog& log);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Reads the exchange's body as a request for text (chat, or the continuation of prompts), and
  // answers it.
  void start(const std::shared_ptr<Exchange>& exchange, const ServedModel& model, bool chat);
  // Ends all with this error.
  void fail_all(const ApiError& error);

  // A request for text was refused before start(), with this status.
  void count_refusal(unsigned status) { metrics_.count(outcome_of(status)); }
  const AppMetrics& metrics() const { return metrics_; }

 private:
  friend class Completion;

  static Outcome outcome_of(unsigned status);
  // Takes places for so many texts. Nothing where they may be had; else what to tell the client.
  std::optional<ApiError> take_places(uint32_t texts);
  ApiError queue_full() const;
  // Ends streams that wait for their clients, those that wait longest first, where that makes room
  // for so many texts.
  void make_room(uint32_t texts);
  void give_back(uint32_t texts) { texts_ -= texts; }

  const CompletionOptions options_;
  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  AppMetrics metrics_;
  uint32_t texts_ = 0;  // running and waiting
  std::unordered_set<std::shared_ptr<Completion>> under_way_;
};

}  // namespace hearth
