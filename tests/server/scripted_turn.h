// The replies of a stub engine, which the conversation itself contains. The n-th reply of a chat is
// the n-th SAY(...)YAS of its prompt. It is cut into tokens as the tokenizer cuts it, and also at
// each vertical bar, where the tokenizer would make one token. BEHIND(TEXT) stands for the word
// after the last TEXT of the prompt. The reply ends as an engine's text does: by the end of the
// script, a stop string, its language or max_tokens. It fails at a token that the language forbids.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "tokenizer/text_stream.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// The template of scripted chats, in Hermes's form, and the format of its turns.
inline constexpr std::string_view kScriptTemplate =
    "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n\n"
    "{% endif %}{{ message.content }}"
    "{% for call in message.tool_calls %}\n<tool_call>\n{\"name\": \"{{ call.function.name }}\", "
    "\"arguments\": {{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}";

class ScriptedTurn {
 public:
  // Returns the turn; none where the prompt has no script for its next reply.
  static std::unique_ptr<ScriptedTurn> of(const Tokenizer& tokenizer, std::string_view prompt,
                                          const Request& request) {
    size_t replies = 0;
    constexpr std::string_view kReply = "<|im_start|>assistant", kBegin = "SAY(", kEnd = ")YAS";
    for (size_t at = 0; (at = prompt.find(kReply, at)) != prompt.npos; ++at) ++replies;
    size_t at = 0;
    for (size_t i = 0; i < replies; ++i) {
      at = prompt.find(kBegin, at);
      if (at == prompt.npos) return nullptr;
      at += kBegin.size();
    }
    const size_t end = prompt.find(kEnd, at);
    if (replies == 0 || end == prompt.npos) return nullptr;
    const std::string script = quote(std::string(prompt.substr(at, end - at)), prompt);
    return std::make_unique<ScriptedTurn>(tokenizer, script, request);
  }

  ScriptedTurn(const Tokenizer& tokenizer, std::string_view script, const Request& request)
      : tokenizer_(tokenizer), request_(request), text_(request.stops) {
    if (request.language) language_.emplace(*request.language);
    while (!script.empty()) {
      const size_t cut = std::min(script.find('|'), script.size());
      const EncodeOptions plain{.add_bos = false, .add_eos = false};
      for (int32_t token : tokenizer.encode(script.substr(0, cut), plain)) {
        tokens_.push_back(token);
      }
      script.remove_prefix(std::min(cut + 1, script.size()));
    }
    tokens_.push_back(tokenizer.vocab().eog.at(0));
  }

  // Returns the next token with its text; with the finish if it is the last.
  Result next() {
    Result result;
    result.index = static_cast<uint32_t>(at_);
    result.token = tokens_.at(at_++);
    if (request_.logprobs) result.logprob = -0.5;
    if (language_ && !language_->accept(result.token)) {
      result.finish = Finish::kFailed;
      result.error =
          "the script says '" + tokenizer_.token_text(result.token) + "', which may not come";
      return result;
    }
    const bool end = tokenizer_.is_eog(result.token);
    if (!end) {
      result.text = text_.push(tokenizer_.token_bytes(result.token, request_.special_text));
    }
    if (end || (language_ && language_->must_end())) {
      result.finish = Finish::kEndOfText;
    } else if (text_.stopped()) {
      result.finish = Finish::kStopString;
    } else if (at_ == request_.max_tokens) {
      result.finish = Finish::kLength;
    }
    if (result.finish) result.text += text_.end();
    if (text_.stopped() && request_.include_stop) result.text += text_.stop();
    return result;
  }

 private:
  // Returns the script with BEHIND(...) replaced.
  static std::string quote(std::string script, std::string_view prompt) {
    constexpr std::string_view kBegin = "BEHIND(";
    const size_t begin = script.find(kBegin), end = script.find(')', begin);
    if (begin == script.npos || end == script.npos) return script;
    const std::string text = script.substr(begin + kBegin.size(), end - begin - kBegin.size());
    const std::string_view behind = prompt.substr(prompt.rfind(text) + text.size());
    const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
    const auto word_end = std::find_if_not(behind.begin(), behind.end(), is_letter);
    return script.replace(begin, end + 1 - begin, std::string(behind.begin(), word_end));
  }

  const Tokenizer& tokenizer_;
  const Request request_;
  TextStream text_;
  std::optional<Matcher> language_;
  std::vector<int32_t> tokens_;
  size_t at_ = 0;
};

}  // namespace hearth
