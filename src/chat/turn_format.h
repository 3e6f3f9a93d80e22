// TurnFormat: what the turns of a model look like, as data: where its reasoning begins and ends,
// how it calls tools, and what its chat template wants of the calls in a history.
//
//   <think> REASONING </think> CONTENT                                      reasoning
//   CONTENT section_begin call separator call ... section_end               calls
//   begin NAME name_end ARGUMENTS end                                       a call
//
// A marker is text in which some parts may be control tokens of the vocabulary (split_marker);
// white space in markers may be more or less in what a model writes.
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
  kJson,        // an object of JSON
  kParameters,  // parameter KEY key_end VALUE value_end, one after the other: text as it is, else
                // JSON
  kDictionary,  // key:VALUE,key:VALUE with keys as they are and texts between `quote`s (Gemma 4)
  kPython,      // key=VALUE, key=VALUE, as Python writes them
};

enum class IdPlace : uint8_t {
  kNone,
  kBeforeName,       // begin ID id_end NAME name_end
  kBehindName,       // begin NAME id_begin ID name_end
  kBehindArguments,  // ARGUMENTS id_begin ID end
  kAroundName,       // begin id_begin NAME ':' NUMBER name_end, all of which is the id (Kimi)
};

struct CallFormat {
  std::string section_begin = {}, separator = {}, section_end = {};
  std::string begin = {}, name_end = {}, end = {};
  IdPlace id_place = IdPlace::kNone;
  std::string id_begin = {}, id_end = {};

  ArgumentForm arguments = ArgumentForm::kJson;
  std::string parameter = {}, key_end = {}, value_end = {};  // kParameters
  std::string json_key_end = {};  // kParameters: in place of key_end before JSON; empty: the same
  std::string quote = {};         // kDictionary
  bool one = false;               // a turn has one call at most

  bool operator==(const CallFormat&) const = default;
};

// The form in which a template wants its history.
struct HistoryFormat {
  bool arguments_as_text = false;  // function.arguments is JSON text; else an object
  std::string reasoning_key = "reasoning_content";  // of a message, where it takes reasoning
  bool null_content = false;                        // of a message of calls alone; else it is ""
  uint32_t id_length = 0;  // of ids, which are letters and digits; 0: any id
  bool operator==(const HistoryFormat&) const = default;
};

struct TurnFormat {
  std::string name = {};  // of the form, for people: "hermes"
  // The marks around reasoning; both are empty where the model does not reason aloud.
  std::string reasoning_begin = {}, reasoning_end = {};
  // The marks around an answer; both empty where it stands by itself.
  std::string content_begin = {}, content_end = {};
  // The form of calls; none where they cannot be told from text.
  std::optional<CallFormat> calls = {};
  // OpenAI's harmony: messages in channels, in place of all of the above.
  bool harmony = false;
  HistoryFormat history = {};

  bool calls_tools() const { return harmony || calls.has_value(); }
  bool reasons() const { return harmony || !reasoning_end.empty(); }
};

// A form that is known by its name, and which of its markers are usually control tokens.
struct KnownFormat {
  TurnFormat format;
  std::vector<std::string> controls;
};

// Null where there is none of this name.
const KnownFormat* find_known_format(std::string_view name);
std::vector<std::string_view> known_format_names();

}  // namespace hearth
