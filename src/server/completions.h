// Completions: what the requests for text have together: the places of those that run or wait, and
// their figures. Used by the reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "http/client_shares.h"
#include "http/exchange.h"
#include "server/answers.h"
#include "server/app_metrics.h"
#include "server/completion_request.h"
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
  explicit Completions(const CompletionOptions& options);
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  AppMetrics& metrics() { return metrics_; }
  const AppMetrics& metrics() const { return metrics_; }

 private:
  friend class Completion;

  // Whether a client may have so many texts more, where slow streams give way: nothing, or what to
  // tell it.
  std::optional<ApiError> find_room(const std::string& client, uint32_t texts);
  // Takes places for so many texts. Nothing where it may have them; else what to tell it.
  std::optional<ApiError> take_places(Completion& completion, uint32_t texts);
  void give_back(Completion& completion) noexcept;
  ApiError queue_full(const std::string& client) const;
  // Ends streams that wait for their clients, those that wait longest first, where that makes room
  // for so many texts of a client.
  void make_room(const std::string& client, uint32_t texts);

  const CompletionOptions options_;
  AppMetrics metrics_;
  ClientShares places_;                      // of texts that run or wait
  std::unordered_set<Completion*> holders_;  // who has taken some
};

}  // namespace hearth
