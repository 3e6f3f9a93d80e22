// Completions: what requests for text share: places for texts that run or wait, and their figures.
// Used by the reactor's thread.
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
  uint32_t max_running = 16;  // texts (choices) generated at the same time
  uint32_t max_queue = 128;   // texts that wait for a place; a client may have half of them
  // Seconds for which a stream's results may wait for its client before it loses its places, if
  // others need them.
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

  // Checks whether a client may take places for `texts` more texts, and ends slow streams to make
  // room. Returns an error if the client may not.
  std::optional<ApiError> find_room(const std::string& client, uint32_t texts);
  // Takes places for `texts` texts. Returns an error if there are too few.
  std::optional<ApiError> take_places(Completion& completion, uint32_t texts);
  void give_back(Completion& completion) noexcept;
  ApiError queue_full(const std::string& client) const;
  // Ends streams whose clients read too slowly, the longest waiting first, if that makes room for
  // `texts` texts of the client.
  void make_room(const std::string& client, uint32_t texts);

  const CompletionOptions options_;
  AppMetrics metrics_;
  ClientShares places_;                      // places of texts that run or wait, by client
  std::unordered_set<Completion*> holders_;  // requests that hold places
};

}  // namespace hearth
