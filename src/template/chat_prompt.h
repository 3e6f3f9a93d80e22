// ChatPrompt: from a conversation to a prompt's tokens, by the chat template of a model's source or
// of a file. Server and command line share it. Immutable: any number of threads.
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
  // `tokenizer` must outlive the object. `template_text`: instead of the source's. Throws as
  // ChatTemplate does for a `template_text`, and (kFile) where it is blank; what is wrong with the
  // source's own is kept for render(), since the model may be used without it, and one that is
  // blank counts as none.
  ChatPrompt(const ModelSource& source, const Tokenizer& tokenizer,
             const std::optional<std::string>& template_text);

  bool has_template() const { return template_.has_value(); }

  // A turn's generation follows. `kwargs`: further variables of the template, a stranger's as the
  // messages are; they cannot replace the names of special tokens (bos_token, ...). `tools` and
  // `documents` are None and `add_generation_prompt` is true where they do not say. Throws Error:
  // as ChatTemplate does, and (kUnsupported), naming --chat-template, where there is no template.
  // `pace`, here and below: null where nobody waits behind the call.
  RenderedChat render(const boost::json::array& messages, const boost::json::object& kwargs,
                      Pace* pace = nullptr) const;

  // How many tokens the prompt of the first turn had, which the first message of an assistant
  // answers; 0 where there is none, or where the template does not take the messages before it
  // alone.
  uint32_t first_turn_tokens(const boost::json::array& messages, const boost::json::object& kwargs,
                             Pace* pace = nullptr) const;

  // The tokens: control tokens where the template wrote them, BOS once, and no EOS behind. `most`
  // and `pace` as EncodeOptions have them.
  std::vector<int32_t> encode(const RenderedChat& chat,
                              size_t most = std::numeric_limits<size_t>::max(),
                              Pace* pace = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  std::string source_name_;
  std::string problem_;  // of the source's own template
  std::optional<ChatTemplate> template_;
  boost::json::object own_;
};

}  // namespace hearth
