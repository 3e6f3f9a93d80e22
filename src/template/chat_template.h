// ChatTemplate: a model's chat template, written in Jinja, that makes one text of a conversation.
// It is read and rendered as the Python library transformers does with Jinja's sandbox
// (trim_blocks, lstrip_blocks, break and continue, `generation`, its own tojson, raise_exception,
// strftime_now); docs/templates.md lists what is supported. Immutable: any number of threads may
// render at a time.
//
// A template comes from a model's file and a conversation from anyone: both are hostile. A
// rendering takes at most a million steps, 4 MiB of text, and bounded memory.
//
// What a string of the request contributed is told by RenderedChat::foreign, through all that the
// template does with it, so that nobody's words become control tokens (EncodeOptions::foreign,
// tokenizer/tokenizer.h). Numbers of the request count as well. A message's "role" is exempt where
// it is one of the roles that everyone knows (kKnownRoles): templates make tokens such as
// "<|user|>" of it.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pace.h"

namespace hearth {

struct RenderedChat {
  std::string text;
  // [begin, end) of the bytes that came from the request: sorted, disjoint.
  std::vector<std::pair<size_t, size_t>> foreign;
};

inline constexpr std::array<std::string_view, 9> kKnownRoles = {
    "system",   "user",  "assistant", "tool",         "developer",
    "function", "model", "ipython",   "tool_response"};

struct TemplateProgram;

class ChatTemplate {
 public:
  using Clock = std::function<std::tm()>;  // for strftime_now()

  // `clock`: by default local time. Throws Error with the line: kFile where `source` is no
  // template, kUnsupported where it needs statements that this program has not.
  explicit ChatTemplate(std::string_view source, Clock clock = {});

  // Whether there is nothing but white space and comments in it: it would drop all that is said.
  bool is_blank() const;

  // `request`: variables whose strings are a stranger's (messages, tools and the like); `own`: the
  // program's, which win (bos_token, eos_token, add_generation_prompt). Throws Error with the line:
  // kRequest for what the template's raise_exception() says, a limit, an operation that is not
  // there; kUnsupported where it reaches a filter or a test that this program has not.
  // `pace`: null where nobody waits behind the rendering; what it throws ends it.
  RenderedChat render(const boost::json::object& request, const boost::json::object& own,
                      Pace* pace = nullptr) const;

 private:
  std::shared_ptr<const TemplateProgram> program_;
  Clock clock_;
};

}  // namespace hearth
