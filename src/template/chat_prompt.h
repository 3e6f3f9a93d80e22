// ChatPrompt: turns a conversation into a prompt's tokens, by the chat template of a model's source
// or of a file. Shared by the server and the command line. Immutable and thread-safe.
//
//   ChatPrompt prompt(source, tokenizer, {});
//   RenderedChat chat = prompt.render(messages, {});
//   std::vector<int32_t> ids = prompt.encode(chat);
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_source.h"
#include "template/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

class ChatPrompt {
 public:
  // `tokenizer` must outlive the object. `template_text` replaces the source's template. Throws as
  // ChatTemplate does for a `template_text`, and (kFile) where it is blank. An error in the
  // source's own template is kept and thrown by render(), since the model may be used without it; a
  // blank one counts as none.
  ChatPrompt(const ModelSource& source, const Tokenizer& tokenizer,
             const std::optional<std::string>& template_text);

  bool has_template() const { return template_.has_value(); }

  // Renders the prompt with which the model's turn begins. `kwargs` are further variables of the
  // template, untrusted like the messages; they cannot replace the names of special tokens
  // (bos_token, ...). Unless they are set there, `tools` and `documents` are None and
  // `add_generation_prompt` is true. Throws as ChatTemplate does, and (kUnsupported), naming
  // --chat-template, where there is no template. `pace`, here and below: null where no other work
  // waits for this thread.
  RenderedChat render(const boost::json::array& messages, const boost::json::object& kwargs,
                      Pace* pace = nullptr) const;

  // Returns how many tokens the prompt before the first assistant message had; 0 if there is no
  // such message, or if the template refuses a conversation of only the messages before it.
  uint32_t first_turn_tokens(const boost::json::array& messages, const boost::json::object& kwargs,
                             Pace* pace = nullptr) const;

  // Returns the tokens: control tokens where the template wrote them, BOS once, and no EOS behind.
  // `most` and `pace` as in EncodeOptions.
  std::vector<int32_t> encode(const RenderedChat& chat,
                              size_t most = std::numeric_limits<size_t>::max(),
                              Pace* pace = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  std::string source_name_;
  std::string problem_;  // the error in the source's own template
  std::optional<ChatTemplate> template_;
  boost::json::object own_;
};

}  // namespace hearth
