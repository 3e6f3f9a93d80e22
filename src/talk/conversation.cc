#include "talk/conversation.h"

#include <boost/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr const char* kMark = "hearth_chat";
constexpr int kVersion = 1;

std::string text_of(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr) return {};
  if (!value->is_string()) fail(ErrorCode::kRequest, "'{}' is not a string", key);
  return std::string(value->get_string());
}

SpokenTurn turn_of(const boost::json::value& value) {
  if (!value.is_object()) fail(ErrorCode::kRequest, "a turn is not an object");
  const boost::json::object& object = value.get_object();
  const std::string role = text_of(object, "role");
  if (role != "user" && role != "assistant") {
    fail(ErrorCode::kRequest, "the role of a turn is '{}'; it must be user or assistant",
         printable(role));
  }
  return {role == "assistant", text_of(object, "content"), text_of(object, "thinking")};
}

void write_turn(Json& json, std::string_view role, std::string_view text) {
  json.object().key("role").text(role).key("content").text(text);
}

const char* role_of(const SpokenTurn& turn) { return turn.model ? "assistant" : "user"; }

}  // namespace

void Conversation::ask(std::string text) {
  if (asks()) {
    turns_.back().text += "\n\n" + text;
  } else {
    turns_.push_back({false, std::move(text)});
  }
}

void Conversation::answer(std::string text, std::string thinking) {
  turns_.push_back({true, std::move(text), std::move(thinking)});
}

bool Conversation::drop_answer() {
  if (!turns_.empty() && turns_.back().model) turns_.pop_back();
  return asks();
}

bool Conversation::undo() {
  if (!drop_answer()) return false;
  turns_.pop_back();
  return true;
}

void Conversation::write_messages(Json& json) const {
  json.array();
  if (!system_.empty()) {
    write_turn(json, "system", system_);
    json.end_object();
  }
  for (const SpokenTurn& turn : turns_) {
    write_turn(json, role_of(turn), turn.text);
    json.end_object();
  }
  json.end_array();
}

std::string Conversation::file_text() const {
  Json json;
  json.object().key(kMark).integer(kVersion).key("system").text(system_).key("turns").array();
  for (const SpokenTurn& turn : turns_) {
    write_turn(json, role_of(turn), turn.text);
    if (!turn.thinking.empty()) json.key("thinking").text(turn.thinking);
    json.end_object();
  }
  json.end_array().end_object();
  return json.line();
}

void Conversation::take_file(std::string_view text) {
  const boost::json::value value = read_json(text);
  const boost::json::object* file = value.if_object();
  if (file == nullptr || !file->contains(kMark)) {
    fail(ErrorCode::kRequest, "it is not a conversation saved with /save");
  }
  const boost::json::value* turns = file->if_contains("turns");
  if (file->at(kMark) != kVersion || turns == nullptr || !turns->is_array()) {
    fail(ErrorCode::kRequest, "it was saved by another version of hearth");
  }
  Conversation read;
  read.system_ = text_of(*file, "system");
  for (const boost::json::value& turn : turns->get_array()) read.turns_.push_back(turn_of(turn));
  *this = std::move(read);
}

bool Conversation::is_file(std::string_view text) {
  try {
    Conversation().take_file(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace hearth
