#include "server/completions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "server/completion.h"

namespace hearth {
namespace {

constexpr double kMostRetrySeconds = 60;

}  // namespace

Completions::Completions(const CompletionOptions& options, HttpServer& server,
                         RequestWorker& worker, RequestLog& log)
    : options_(options), server_(server), worker_(worker), log_(log) {}

Completions::~Completions() {
  // The server may tell them of their clients' end still.
  for (const auto& completion : under_way_) completion->forget();
}

Outcome Completions::outcome_of(unsigned status) {
  if (status == 429 || status == 503) return Outcome::kBusy;
  return status >= 500 ? Outcome::kFailed : Outcome::kRefused;
}

void Completions::start(const std::shared_ptr<Exchange>& exchange, const ServedModel& model,
                        bool chat) {
  auto completion = std::make_shared<Completion>(*this, exchange, model, chat);
  under_way_.insert(completion);
  make_room(1);
  // Before its body costs anything.
  if (texts_ >= options_.max_running + options_.max_queue) return completion->fail(queue_full());
  completion->start();
}

void Completions::fail_all(const ApiError& error) {
  // Each that ends leaves the set.
  std::vector<std::shared_ptr<Completion>> all(under_way_.begin(), under_way_.end());
  for (const auto& completion : all) completion->fail(error);
}

std::optional<ApiError> Completions::take_places(uint32_t texts) {
  uint32_t most = options_.max_running + options_.max_queue;
  if (texts > most) {
    return ApiError{400, "", "too_many_texts",
                    fmt::format("{} texts are asked for at once, prompts times n; this server has "
                                "places for {}: ask for fewer",
                                texts, most)};
  }
  make_room(texts);
  if (texts_ + texts <= most) {
    texts_ += texts;
    return {};
  }
  return queue_full();
}

void Completions::make_room(uint32_t texts) {
  uint32_t most = options_.max_running + options_.max_queue;
  if (texts_ + texts <= most) return;
  std::vector<std::pair<double, std::shared_ptr<Completion>>> slow;
  uint32_t held = 0;
  for (const auto& completion : under_way_) {
    double seconds = completion->stalled_seconds();
    if (seconds < options_.stall_seconds) continue;
    held += completion->places();
    slow.emplace_back(seconds, completion);
  }
  if (texts_ - held + texts > most) return;
  std::ranges::sort(slow, std::greater(), [](const auto& one) { return one.first; });
  for (const auto& [seconds, completion] : slow) {
    if (texts_ + texts <= most) return;
    completion->give_way();
  }
}

// Says to wait as long as a place takes to become free, by the requests so far.
ApiError Completions::queue_full() const {
  const Histogram& past = metrics_.request_seconds;
  double mean = past.count() > 0 ? past.sum() / static_cast<double>(past.count()) : 1;
  double wait = mean * (1 + static_cast<double>(texts_) / options_.max_running);
  auto seconds = static_cast<int>(std::clamp(std::ceil(wait), 1.0, kMostRetrySeconds));
  return ApiError{
      429,
      "",
      "queue_full",
      fmt::format("{} texts are under way or wait already: try again in {} s", texts_, seconds),
      {},
      {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace hearth
