#include "server/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "server/chat_messages.h"
#include "server/turn_history.h"

namespace hearth {
namespace {

constexpr size_t kTailBytes = 256;

}  // namespace

void check_turns(const ServedModel& model, const CompletionCall& call) {
  const TurnFormat* turns = model.turns;
  // The server could not find calls in the model's text without knowing their format.
  if (!call.turn.tools.empty() && (turns == nullptr || !turns->calls_tools())) {
    const std::string& problem = model.turns_problem;
    throw RequestError(kUnsupportedField, "tools",
                       fmt::format("cannot be called, as the chat template {}: leave them out, or "
                                   "start the server with another template (--chat-template)",
                                   problem.empty() ? "shows no calls" : problem));
  }
  if (call.must_reason && (turns == nullptr || !turns->reasons())) {
    throw RequestError(kUnsupportedField, "reasoning_effort",
                       "is not available, as the chat template has no reasoning: leave it out");
  }
}

RenderedChat render_conversation(const ServedModel& model, CompletionCall* call, Pace* pace) {
  fit_history(model.turns, &call->messages);
  RenderedChat chat = model.chat.render(call->messages, call->template_kwargs, pace);
  if (call->continue_final) end_with_final_message(call->messages, &chat);
  return chat;
}

std::string prompt_tail(const RenderedChat& chat, bool continued) {
  size_t at = chat.text.size() - std::min(chat.text.size(), kTailBytes);
  std::span<const std::pair<size_t, size_t>> others = chat.untrusted;
  if (continued && !others.empty()) others = others.first(others.size() - 1);
  std::string tail;
  for (const auto& [begin, end] : others) {
    if (end <= at) continue;
    if (begin > at) tail += chat.text.substr(at, begin - at);
    at = end;
    if (!continued) tail.clear();
  }
  return tail + chat.text.substr(at);
}

}  // namespace hearth
