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

constexpr double kMaxRetrySeconds = 60;

}  // namespace

Completions::Completions(const CompletionOptions& options)
    : options_(options),
      places_(uint64_t{options.max_running} + options.max_queue, options.max_running) {}

std::optional<ApiError> Completions::find_room(const std::string& client, uint32_t texts) {
  make_room(client, texts);
  if (!places_.may_take(client, texts)) return queue_full(client);
  return {};
}

std::optional<ApiError> Completions::take_places(Completion& completion, uint32_t texts) {
  if (texts > places_.most()) {
    return ApiError{400, "", "too_many_texts",
                    fmt::format("the request asks for {} texts (prompts times n), and this server "
                                "allows {} per client: ask for fewer",
                                texts, places_.most())};
  }
  if (std::optional<ApiError> error = find_room(completion.client(), texts)) return error;
  holders_.insert(&completion);
  places_.take(completion.client(), texts);
  return {};
}

void Completions::give_back(Completion& completion) noexcept {
  places_.give_back(completion.client(), completion.places());
  holders_.erase(&completion);
}

void Completions::make_room(const std::string& client, uint32_t texts) {
  if (places_.may_take(client, texts)) return;
  std::vector<std::pair<double, Completion*>> slow;
  ClientShares without = places_;
  for (Completion* completion : holders_) {
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

// Returns the error 429 with the seconds to wait until a place should be free, by the mean duration
// of past requests. The texts before this one count: all texts if all places are taken, else those
// of the client, which has its whole share.
ApiError Completions::queue_full(const std::string& client) const {
  const Histogram& past = metrics_.requests.seconds;
  double mean = past.count() > 0 ? past.sum() / static_cast<double>(past.count()) : 1;
  bool full = !places_.has_room(1);
  uint64_t before = full ? places_.held() : places_.held_by(client);
  double wait = mean * (1 + static_cast<double>(before) / options_.max_running);
  auto seconds = static_cast<int>(std::clamp(std::ceil(wait), 1.0, kMaxRetrySeconds));
  const char* whose = full ? "" : " of yours, which is the share of one client";
  return ApiError{429,
                  "",
                  "queue_full",
                  fmt::format("{} texts are already running or waiting{}: try again in {} s",
                              before, whose, seconds),
                  {},
                  {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace hearth
