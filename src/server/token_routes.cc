#include "server/token_routes.h"

#include <algorithm>
#include <span>
#include <utility>

#include "http/reader.h"
#include "server/chat_messages.h"
#include "server/reply_bodies.h"
#include "server/reply_pieces.h"
#include "server/request_error.h"
#include "server/text_calls.h"
#include "server/turn_history.h"

namespace hearth {
namespace {

void hold(Exchange& exchange, uint64_t bytes) {
  if (!exchange.hold(bytes)) throw RequestError(replies_full());
}

// DecodedBody: the text of token ids, made in pieces, as a short request may give a very long text.
class DecodedBody : public TextBody {
 public:
  DecodedBody(const Tokenizer& tokenizer, std::vector<int32_t> ids)
      : TextBody("content"), tokenizer_(tokenizer), ids_(std::move(ids)) {}

 private:
  bool more(std::string* bytes) override {
    constexpr size_t kIds = 256;
    std::span<const int32_t> part = std::span(ids_).subspan(at_);
    part = part.first(std::min(part.size(), kIds));
    tokenizer_.decode_part(part, false, &first_, bytes);
    at_ += part.size();
    return at_ < ids_.size();
  }

  const Tokenizer& tokenizer_;
  const std::vector<int32_t> ids_;
  size_t at_ = 0;
  bool first_ = true;
};

std::unique_ptr<BodySource> tokenize(Exchange& exchange, const TokenRouteModel& model,
                                     const RequestLimits& limits, Pace* pace) {
  BodyLease lease;
  TokenizeCall call = read_tokenize_call(exchange.take_body(&lease), limits);
  EncodeOptions options;
  if (!model.add_eos) options.add_eos = false;
  options.parse_special = call.parse_special;
  options.pace = pace;
  if (!call.add_special) options.add_bos = options.add_eos = false;
  std::vector<int32_t> ids = model.tokenizer.encode(call.text, options);
  hold(exchange, ids.size() * sizeof(int32_t));
  return std::make_unique<TokensBody>(std::move(ids));
}

std::unique_ptr<BodySource> detokenize(Exchange& exchange, const Tokenizer& tokenizer,
                                       const RequestLimits& limits) {
  auto vocabulary = static_cast<uint32_t>(tokenizer.size());
  std::vector<int32_t> ids = read_detokenize_call(exchange.take_body(), limits, vocabulary);
  if (tokenizer.decodes_in_parts()) {
    hold(exchange, ids.size() * sizeof(int32_t));
    return std::make_unique<DecodedBody>(tokenizer, std::move(ids));
  }
  // This text is made as a whole, so its memory is taken from the budget first.
  uint64_t bytes = 0;
  for (int32_t id : ids) bytes += tokenizer.token_text(id).size();
  hold(exchange, bytes);
  return std::make_unique<WholeTextBody>("content", tokenizer.decode(ids));
}

}  // namespace

TokenAnswer::TokenAnswer(Answers& answers, std::shared_ptr<Exchange> exchange, TokenRoute route,
                         const TokenRouteModel& model, const RequestLimits& limits)
    : Answer(answers, std::move(exchange), nullptr),
      route_(route),
      model_(model),
      limits_(limits) {}

void TokenAnswer::begin() {
  on_worker([this] { reply_with(body(), Outcome::kOk); }, exchange().request().body.size());
}

std::unique_ptr<BodySource> TokenAnswer::body() {
  Pace turns = pace();
  if (route_ == TokenRoute::kTokenize) return tokenize(exchange(), model_, limits_, &turns);
  if (route_ == TokenRoute::kDetokenize) return detokenize(exchange(), model_.tokenizer, limits_);
  BodyLease lease;
  TemplateCall call = read_template_call(exchange().take_body(&lease), limits_);
  fit_history(model_.turns, &call.messages);
  RenderedChat chat = model_.chat->render(call.messages, call.template_kwargs, &turns);
  if (call.continue_final) end_with_final_message(call.messages, &chat);
  hold(exchange(), chat.text.size());
  return std::make_unique<WholeTextBody>("prompt", std::move(chat.text));
}

}  // namespace hearth
