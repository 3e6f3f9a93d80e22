// TurnLanguage: all that a model may say in one turn, as one grammar: reasoning, content, calls of
// tools. It binds what is generated, and tells what each byte of it is, so the two cannot disagree.
//
// Errors (kRequest): those of the schemas of tools that are strict and of the answer's shape, by
// path; SchemaTooComplex.
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
  std::string parameters = {};  // the JSON text of a schema; empty: an object without members
  bool strict = false;          // arguments are held to all of the schema, or it is refused
  std::string where = {};       // what errors call the schema: "tools[3].function.parameters"
};

enum class ToolChoice : uint8_t {
  kNone,      // markup of calls is content
  kAuto,      // content and calls
  kRequired,  // calls, and no content
};

// The demands on one turn.
struct TurnOrder {
  std::vector<Tool> tools = {};  // those that may be called
  ToolChoice choice = ToolChoice::kNone;
  bool parallel = true;          // several calls
  OutputShape answer = {};       // of the content
  std::string prompt_tail = {};  // what the prompt ends with: the last bytes of it, or all
  bool prompt_goes_on = false;   // the prompt ends in a message of the assistant, which goes on
};

// Tokens that markers may be made of, by what they show.
struct MarkerToken {
  std::string text;
  int32_t id;
};

// The text of markers that tags of text have at their end (chat/turn_markup.h), for the reader.
struct TurnCuts {
  std::string content, reasoning, value;
  bool newline_before_value_end = false;
};

struct TurnLanguage {
  TurnFormat format;
  bool tools = false;                    // calls are told from content
  bool bound = false;                    // not every text is allowed: the engine has to hold it
  std::shared_ptr<const Matcher> begin;  // where the turn begins, behind what the prompt opened
  std::vector<MarkerToken> markers;      // that the form's markup has
  TurnCuts cuts;
  uint32_t stop_tags = 0;  // of content in which stop strings may stand
  // The parts of tools' schemas that were left out since the tools are not strict, as the errors
  // they would have been.
  std::vector<std::string> relaxed;
};

// The control tokens of a vocabulary, and others that show as one piece of markup.
std::vector<MarkerToken> marker_tokens(const Tokenizer& tokenizer);

TurnLanguage compile_turn(const TurnFormat& format, const TurnOrder& order,
                          std::vector<MarkerToken> markers,
                          std::shared_ptr<const VocabularyTrie> vocabulary);

}  // namespace hearth
