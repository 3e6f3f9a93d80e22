#include "server/messages_api.h"

#include <fmt/format.h>

#include <utility>

#include "server/messages_reply.h"

namespace hearth {
namespace {

class MessagesApi final : public TextApi {
 public:
  explicit MessagesApi(MessagesWish wish) : wish_(wish) {}

  CompletionCall read(std::string_view body, const SamplingParams& defaults,
                      const RequestLimits& limits, uint32_t vocabulary) override {
    MessagesBody asked = read_messages_body(body, limits, wish_);
    CompletionCall call = read_messages_call(asked, defaults, limits, vocabulary);
    names_ = std::move(asked.names);
    ignored_ = std::move(asked.ignored);
    return call;
  }
  std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall&) override {
    return std::make_unique<MessagesReply>(std::move(start.unique), std::move(start.model));
  }
  ApiError named(ApiError error) const override { return names_.translated(std::move(error)); }
  std::string ignored() const override { return fmt::format("{}", fmt::join(ignored_, "; ")); }

 private:
  const MessagesWish wish_;
  MessagesNames names_;
  std::vector<std::string> ignored_;
};

}  // namespace

std::unique_ptr<TextApi> messages_api(MessagesWish wish) {
  return std::make_unique<MessagesApi>(wish);
}

}  // namespace hearth
