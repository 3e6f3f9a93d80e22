// TurnLanguage: the grammar of all that a model may generate in one turn: reasoning, content, tool
// calls. It constrains generation and also tags each byte generated, so the two always agree.
//
// Errors (kRequest): those in the answer's shape and in schemas of strict tools, by path;
// SchemaTooComplex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/turn_format.h"
#include "grammar/matcher.h"
#include "grammar/output_shape.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct Tool {
  std::string name;
  std::string parameters = {};  // the schema's JSON text; empty: no members
  bool strict = false;          // enforce the whole schema, or refuse the request
  std::string where = {};       // what errors call the schema: "tools[3].function.parameters"
};

enum class ToolChoice : uint8_t {
  kNone,      // text that looks like calls is content
  kAuto,      // content, then perhaps calls
  kRequired,  // calls without content
};

// TurnOrder: the request's demands on one turn.
struct TurnOrder {
  std::vector<Tool> tools = {};  // those that may be called
  ToolChoice choice = ToolChoice::kNone;
  bool parallel = true;          // several calls are allowed
  OutputShape answer = {};       // of the content
  std::string prompt_tail = {};  // the prompt's last bytes, or all of it
  bool prompt_goes_on = false;   // the turn continues the prompt's last message
};

// MarkerToken: a token that may be a part of markers, by its text.
struct MarkerToken {
  std::string text;
  int32_t id;
};

// The texts of markers that the grammar tags as part of content, reasoning or values
// (chat/turn_markup.h): the reader cuts them off the ends.
struct TurnCuts {
  std::string content, reasoning, value;
  bool newline_before_value_end = false;
};

struct TurnLanguage {
  TurnFormat format;
  bool tools = false;                    // calls are told from content
  bool bound = false;                    // not every text is allowed: the engine must constrain it
  std::shared_ptr<const Matcher> begin;  // the turn's beginning, after what the prompt opened
  std::vector<MarkerToken> markers;      // those in the format's markup
  TurnCuts cuts;
  uint32_t stop_tags = 0;  // bits of tags of content, where stop strings are searched
  // The parts of schemas that are not enforced, as the tools are not strict: for each the error
  // that a strict tool would get.
  std::vector<std::string> relaxed;
};

// Returns a vocabulary's control tokens, and other tokens that look like a piece of markup.
std::vector<MarkerToken> marker_tokens(const Tokenizer& tokenizer);

TurnLanguage compile_turn(const TurnFormat& format, const TurnOrder& order,
                          std::vector<MarkerToken> markers,
                          std::shared_ptr<const VocabularyTrie> vocabulary);

}  // namespace hearth
