// ChatTemplate: a model's chat template, written in Jinja, that turns a conversation into one text.
// It is parsed and rendered as the Python library transformers does with Jinja's sandbox
// (trim_blocks, lstrip_blocks, break and continue, `generation`, its own tojson, raise_exception,
// strftime_now); docs/templates.md lists what is supported. Immutable and thread-safe.
//
// A template comes from a model's file and a conversation from anyone: both are hostile. A
// rendering takes at most a million steps, 4 MiB of text, and bounded memory.
//
// RenderedChat::untrusted tells which bytes come from strings of the request, whatever the template
// does with them, so that untrusted text never becomes control tokens (EncodeOptions::untrusted,
// tokenizer/tokenizer.h). Numbers of the request count as well. A message's "role" is exempt where
// it is a well-known one (kKnownRoles): templates make tokens such as "<|user|>" of it.
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
  std::vector<std::pair<size_t, size_t>> untrusted;
};

inline constexpr std::array<std::string_view, 9> kKnownRoles = {
    "system",   "user",  "assistant", "tool",         "developer",
    "function", "model", "ipython",   "tool_response"};

struct TemplateProgram;

class ChatTemplate {
 public:
  using Clock = std::function<std::tm()>;  // for strftime_now()

  // `clock` is local time by default. Throws Error with the line: kFile where `source` is not a
  // valid template, kUnsupported where it needs statements that this program lacks.
  explicit ChatTemplate(std::string_view source, Clock clock = {});

  // Returns whether the template has only white space and comments: such a template would drop the
  // conversation.
  bool is_blank() const;

  // Renders the template. `request` has the untrusted variables (messages, tools and the like),
  // `own` the program's, which have precedence (bos_token, eos_token, add_generation_prompt).
  // Throws Error with the line: kRequest for the template's raise_exception(), an exceeded limit,
  // or an operation that a value does not have; kUnsupported where it reaches a filter or a test
  // that this program lacks. `pace` is null where no other work waits for this thread; an exception
  // that it throws ends the rendering.
  RenderedChat render(const boost::json::object& request, const boost::json::object& own,
                      Pace* pace = nullptr) const;

 private:
  std::shared_ptr<const TemplateProgram> program_;
  Clock clock_;
};

}  // namespace hearth
