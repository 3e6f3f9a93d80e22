#include "template/chat_prompt.h"

#include <algorithm>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/utf8.h"

namespace hearth {
namespace {

struct SpecialName {
  const char* name;
  int32_t Vocab::*id;
};

constexpr SpecialName kSpecialNames[] = {{"bos_token", &Vocab::bos},  {"eos_token", &Vocab::eos},
                                         {"unk_token", &Vocab::unk},  {"sep_token", &Vocab::sep},
                                         {"pad_token", &Vocab::pad},  {"cls_token", &Vocab::bos},
                                         {"mask_token", &Vocab::mask}};

boost::json::object special_names(const Tokenizer& tokenizer) {
  boost::json::object names;
  for (const auto& [name, id] : kSpecialNames) {
    int32_t token = tokenizer.vocab().*id;
    bool always = id == &Vocab::bos || id == &Vocab::eos;
    if (token == Vocab::kNone) {
      if (always) names[name] = "";
    } else if (is_well_formed(tokenizer.token_text(token))) {
      names[name] = tokenizer.token_text(token);
    }
  }
  return names;
}

}  // namespace

ChatPrompt::ChatPrompt(const ModelSource& source, const Tokenizer& tokenizer,
                       const std::optional<std::string>& template_text)
    : tokenizer_(tokenizer), source_name_(source.name()), own_(special_names(tokenizer)) {
  if (template_text) {
    template_.emplace(*template_text);
    if (!template_->is_blank()) return;
    fail(ErrorCode::kFile, "the chat template is blank: give one with text");
  }
  std::optional<std::string_view> text = source.chat_template();
  if (!text) return;
  try {
    template_.emplace(*text);
    if (template_->is_blank()) template_.reset();
  } catch (const Error& error) {
    problem_ = error.what();
  }
}

RenderedChat ChatPrompt::render(const boost::json::array& messages,
                                const boost::json::object& kwargs, Pace* pace) const {
  if (!template_ && problem_.empty()) {
    fail(ErrorCode::kUnsupported,
         "'{}' has no chat template: give one with --chat-template FILE, or send a plain prompt",
         source_name_);
  }
  if (!template_) {
    fail(ErrorCode::kUnsupported, "'{}': {}; give another one with --chat-template FILE",
         source_name_, problem_);
  }
  boost::json::object request = {
      {"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", true}};
  for (const auto& member : kwargs) request[member.key()] = member.value();
  request["messages"] = messages;
  return template_->render(request, own_, pace);
}

uint32_t ChatPrompt::first_turn_tokens(const boost::json::array& messages,
                                       const boost::json::object& kwargs, Pace* pace) const {
  const auto* reply = std::find_if(messages.begin(), messages.end(), [](const auto& message) {
    const boost::json::object* fields = message.if_object();
    const boost::json::value* role = fields != nullptr ? fields->if_contains("role") : nullptr;
    return role != nullptr && role->is_string() && role->get_string() == "assistant";
  });
  if (reply == messages.begin() || reply == messages.end()) return 0;
  boost::json::object of_turn = kwargs;
  of_turn["add_generation_prompt"] = true;
  try {
    const boost::json::array before(messages.begin(), reply);
    const RenderedChat chat = render(before, of_turn, pace);
    return static_cast<uint32_t>(encode(chat, std::numeric_limits<uint32_t>::max(), pace).size());
  } catch (const Error&) {
    return 0;
  }
}

std::vector<int32_t> ChatPrompt::encode(const RenderedChat& chat, size_t most, Pace* pace) const {
  EncodeOptions options;
  options.add_bos = options.add_eos = false;
  options.parse_special = true;
  options.untrusted = chat.untrusted;
  options.most = most;
  options.pace = pace;
  std::vector<int32_t> ids = tokenizer_.encode(chat.text, options);
  const std::span<const int32_t> before = tokenizer_.before();
  const bool there =
      ids.size() >= before.size() && std::equal(before.begin(), before.end(), ids.begin());
  if (tokenizer_.adds_bos() && !there) ids.insert(ids.begin(), before.begin(), before.end());
  return ids;
}

}  // namespace hearth
