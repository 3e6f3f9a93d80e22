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
    : options_(options),
      server_(server),
      worker_(worker),
      log_(log),
      places_(uint64_t{options.max_running} + options.max_queue, options.max_running) {}

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
  // First: whatever fails from here on ends it.
  exchange->on_gone([completion] { completion->leave(); });
  under_way_.insert(completion);
  const std::string& client = exchange->request().client;
  make_room(client, 1);
  // Before its body costs anything.
  if (!places_.may_take(client, 1)) return completion->fail(queue_full(client));
  completion->start();
}

void Completions::fail_all(const ApiError& error) {
  // Each that ends leaves the set.
  std::vector<std::shared_ptr<Completion>> all(under_way_.begin(), under_way_.end());
  for (const auto& completion : all) completion->fail(error);
}

std::optional<ApiError> Completions::take_places(const std::string& client, uint32_t texts) {
  if (texts > places_.most()) {
    return ApiError{400, "", "too_many_texts",
                    fmt::format("{} texts are asked for at once, prompts times n; this server has "
                                "places for {} of one client: ask for fewer",
                                texts, places_.most())};
  }
  make_room(client, texts);
  if (!places_.may_take(client, texts)) return queue_full(client);
  places_.take(client, texts);
  return {};
}

void Completions::make_room(const std::string& client, uint32_t texts) {
  if (places_.may_take(client, texts)) return;
  std::vector<std::pair<double, std::shared_ptr<Completion>>> slow;
  ClientShares without = places_;
  for (const auto& completion : under_way_) {
    double seconds = completion->stalled_seconds();
    if (seconds < options_.stall_seconds) continue;
    without.give_back(completion->client(), completion->places());
    slow.emplace_back(seconds, completion);
  }
  if (!without.may_take(client, texts)) return;
  std::ranges::sort(slow, std::greater(), [](const auto& one) { return one.first; });
  for (const auto& [seconds, completion] : slow) {
    if (places_.may_take(client, texts)) return;
    completion->give_way();
  }
}

// Says to wait as long as a place takes to become free, by the requests so far: behind all texts
// where there is no place, and behind its own where a client has its share.
ApiError Completions::queue_full(const std::string& client) const {
  const Histogram& past = metrics_.request_seconds;
  double mean = past.count() > 0 ? past.sum() / static_cast<double>(past.count()) : 1;
  bool full = !places_.has_room(1);
  uint64_t before = full ? places_.held() : places_.held_by(client);
  double wait = mean * (1 + static_cast<double>(before) / options_.max_running);
  auto seconds = static_cast<int>(std::clamp(std::ceil(wait), 1.0, kMostRetrySeconds));
  const char* whose = full ? "" : " of yours, and more would leave others no place";
  return ApiError{429,
                  "",
                  "queue_full",
                  fmt::format("{} texts are under way or wait already{}: try again in {} s", before,
                              whose, seconds),
                  {},
                  {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace hearth
