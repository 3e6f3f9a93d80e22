#include "server/queued_texts.h"

#include <fmt/format.h>

namespace hearth {
namespace {

ApiError full(std::string message) {
  constexpr const char* kRetrySeconds = "2";
  return {429, "", "queue_full", std::move(message), {}, {{"Retry-After", kRetrySeconds}}};
}

}  // namespace

std::optional<ApiError> QueuedTexts::take_bytes(const std::string& client, uint64_t bytes,
                                                uint64_t already) {
  bool only = memory_.held_by(client) == already;
  if (only ? memory_.has_room(bytes) : memory_.may_take(client, bytes)) {
    memory_.take(client, bytes);
    return {};
  }
  return full(
      fmt::format("the {} being processed use all the memory for them, or one client's share: try "
                  "again in a moment, or send fewer texts",
                  requests_));
}

std::optional<ApiError> QueuedTexts::take_tokens(const std::string& client, uint64_t tokens,
                                                 const ServedEmbedder& model) {
  if (model.shares_slots && tokens_.held_by(client) > 0) {
    uint64_t slots = 0;
    for (const DeviceStatistics& device : model.queues.statistics()) slots += device.slots;
    tokens_.set_all(slots);
    if (!tokens_.may_take(client, tokens)) {
      return full(fmt::format(
          "your {} already use one client's share of the queue: try again in a moment", requests_));
    }
  }
  tokens_.take(client, tokens);
  return {};
}

}  // namespace hearth
