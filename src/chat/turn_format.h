// TurnFormat: the format of a model's turns, as data: the markers around reasoning, how tools are
// called, and the form of calls that the chat template takes in a history.
//
//   <think> REASONING </think> CONTENT                                      reasoning
//   CONTENT section_begin call separator call ... section_end               calls
//   begin NAME name_end ARGUMENTS end                                       a call
//
// A marker is text in which some parts may be control tokens of the vocabulary (split_marker). A
// model may write more or less white space than a marker has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class ArgumentForm : uint8_t {
  kJson,        // a JSON object
  kParameters,  // parameter KEY key_end VALUE value_end, one after the other: text as it is, else
                // JSON
  kDictionary,  // key:VALUE,key:VALUE with keys as they are and texts between `quote`s (Gemma 4)
  kPython,      // key=VALUE, key=VALUE, as in Python
};

enum class IdPlace : uint8_t {
  kNone,
  kBeforeName,       // begin ID id_end NAME name_end
  kBehindName,       // begin NAME id_begin ID name_end
  kBehindArguments,  // ARGUMENTS id_begin ID end
  kAroundName,       // begin id_begin NAME ':' NUMBER name_end: the whole is the id (Kimi)
};

struct CallFormat {
  std::string section_begin = {}, separator = {}, section_end = {};
  std::string begin = {}, name_end = {}, end = {};
  IdPlace id_place = IdPlace::kNone;
  std::string id_begin = {}, id_end = {};

  ArgumentForm arguments = ArgumentForm::kJson;
  std::string parameter = {}, key_end = {}, value_end = {};  // kParameters
  std::string json_key_end = {};  // kParameters: replaces key_end before JSON; empty: key_end
  std::string quote = {};         // kDictionary
  bool one = false;               // a turn has at most one call

  bool operator==(const CallFormat&) const = default;
};

// The form of messages that a template takes in its history.
struct HistoryFormat {
  bool arguments_as_text = false;  // function.arguments is JSON text, not an object
  std::string reasoning_key = "reasoning_content";  // the message's member that the template reads
  bool null_content = false;                        // of a message of calls alone; else it is ""
  uint32_t id_length = 0;                           // letters and digits of an id; 0: any id
  bool operator==(const HistoryFormat&) const = default;
};

struct TurnFormat {
  std::string name = {};  // of the form, for people: "hermes"
  // The markers around reasoning; both empty where the model has none.
  std::string reasoning_begin = {}, reasoning_end = {};
  // The markers around content; both empty where it has none.
  std::string content_begin = {}, content_end = {};
  // The form of calls; nothing where calls cannot be told from text.
  std::optional<CallFormat> calls = {};
  // OpenAI's harmony: messages in channels, instead of all of the above.
  bool harmony = false;
  HistoryFormat history = {};

  bool calls_tools() const { return harmony || calls.has_value(); }
  bool reasons() const { return harmony || !reasoning_end.empty(); }
};

// KnownFormat: a form with a name, and those of its markers that are usually control tokens.
struct KnownFormat {
  TurnFormat format;
  std::vector<std::string> controls;
};

// Returns the form of this name; null where there is none.
const KnownFormat* find_known_format(std::string_view name);
std::vector<std::string_view> known_format_names();

}  // namespace hearth
