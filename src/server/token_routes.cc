#include "server/token_routes.h"

#include "server/chat_messages.h"
#include "server/reply_bodies.h"
#include "server/text_calls.h"

namespace hearth {
namespace {

std::string tokenize(std::string_view body, const TokenRouteModel& model,
                     const RequestLimits& limits, Pace* pace) {
  TokenizeCall call = read_tokenize_call(body, limits);
  EncodeOptions options;
  if (!model.add_eos) options.add_eos = false;
  options.parse_special = call.parse_special;
  options.pace = pace;
  if (!call.add_special) options.add_bos = options.add_eos = false;
  return tokenize_body(model.tokenizer.encode(call.text, options));
}

std::string detokenize(std::string_view body, const Tokenizer& tokenizer,
                       const RequestLimits& limits) {
  auto vocabulary = static_cast<uint32_t>(tokenizer.size());
  return detokenize_body(tokenizer.decode(read_detokenize_call(body, limits, vocabulary)));
}

}  // namespace

std::string token_route_body(RouteId route, std::string_view body, const TokenRouteModel& model,
                             const RequestLimits& limits, Pace* pace) {
  if (route == RouteId::kTokenize) return tokenize(body, model, limits, pace);
  if (route == RouteId::kDetokenize) return detokenize(body, model.tokenizer, limits);
  TemplateCall call = read_template_call(body, limits);
  RenderedChat chat = model.chat->render(call.messages, call.template_kwargs, pace);
  if (call.continue_final) end_with_final_message(call.messages, &chat);
  return template_body(chat.text);
}

}  // namespace hearth
