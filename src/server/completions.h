// Completions: the requests for text that are under way, and how many there may be. Used by the
// reactor's thread, but for start() of a RequestWorker's part.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "http/client_shares.h"
#include "http/server.h"
#include "server/app_metrics.h"
#include "server/completion_request.h"
#include "server/request_log.h"
#include "server/request_worker.h"
#include "server/served_model.h"

namespace hearth {

class Completion;

struct CompletionOptions {
  RequestLimits limits;
  uint32_t max_running = 16;  // texts that are generated at the same time
  uint32_t max_queue = 128;   // texts that may wait for a place; a client's share is half of them
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
  // Takes places for so many texts of a client. Nothing where it may have them; else what to tell
  // it.
  std::optional<ApiError> take_places(const std::string& client, uint32_t texts);
  ApiError queue_full(const std::string& client) const;
  // Ends streams that wait for their clients, those that wait longest first, where that makes room
  // for so many texts of a client.
  void make_room(const std::string& client, uint32_t texts);
  void give_back(const std::string& client, uint32_t texts) { places_.give_back(client, texts); }

  const CompletionOptions options_;
  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  AppMetrics metrics_;
  ClientShares places_;  // of texts that run or wait
  std::unordered_set<std::shared_ptr<Completion>> under_way_;
};

}  // namespace hearth
