#include "chat/recorded_turn.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "base/json.h"
#include "grammar/byte_vocabulary.h"

namespace hearth {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* field = object.if_contains(name);
  if (field == nullptr || field->is_null()) return {};
  if (!field->is_string()) fail(ErrorCode::kRequest, "'{}' must be a string", name);
  return std::string(field->get_string());
}

const json::array* list_of(const json::object& object, std::string_view name) {
  const json::value* field = object.if_contains(name);
  if (field == nullptr || field->is_null()) return nullptr;
  if (!field->is_array()) fail(ErrorCode::kRequest, "'{}' must be a list", name);
  return &field->get_array();
}

Tool read_tool(const json::value& given, const json::object& definitions) {
  const json::value* value = &given;
  if (given.is_string()) {
    value = definitions.if_contains(given.get_string());
    if (value == nullptr) return {.name = std::string(given.get_string()), .parameters = "{}"};
  }
  if (!value->is_object()) fail(ErrorCode::kRequest, "'tools' must contain objects or names");
  const json::object* tool = &value->get_object();
  if (const json::value* inner = tool->if_contains("function"); inner && inner->is_object()) {
    tool = &inner->get_object();
  }
  Tool read{.name = text_of(*tool, "name")};
  if (read.name.empty()) fail(ErrorCode::kRequest, "a tool has no 'name'");
  const json::value* parameters = tool->if_contains("parameters");
  if (parameters != nullptr) read.parameters = json::serialize(*parameters);
  const json::value* strict = tool->if_contains("strict");
  read.strict = strict != nullptr && strict->is_bool() && strict->get_bool();
  return read;
}

ToolChoice read_choice(const json::object& turn, bool any_tools) {
  const std::string choice = text_of(turn, "tool_choice");
  if (choice.empty()) return any_tools ? ToolChoice::kAuto : ToolChoice::kNone;
  if (choice == "auto") return ToolChoice::kAuto;
  if (choice == "required") return ToolChoice::kRequired;
  if (choice == "none") return ToolChoice::kNone;
  fail(ErrorCode::kRequest, "'tool_choice' must be auto, required or none");
}

}  // namespace

TurnVocabulary turn_vocabulary(const Tokenizer& tokenizer) {
  TurnVocabulary vocabulary{.trie = VocabularyTrie::of(tokenizer),
                            .markers = marker_tokens(tokenizer)};
  const std::span<const int32_t> ends = vocabulary.trie->ends();
  if (!ends.empty()) vocabulary.end = ends[0];
  vocabulary.encode = [&tokenizer](std::string_view text) {
    return tokenizer.encode(text, {.add_bos = false, .add_eos = false});
  };
  return vocabulary;
}

TurnVocabulary made_turn_vocabulary(const std::vector<std::string>& markers) {
  TurnVocabulary vocabulary{.end = kByteVocabularyEnd};
  std::vector<VocabularyToken> tokens = single_byte_tokens();
  for (const std::string& marker : markers) {
    vocabulary.markers.push_back({marker, static_cast<int32_t>(tokens.size())});
    tokens.push_back({.role = TokenRole::kControl});
  }
  vocabulary.trie = std::make_shared<const VocabularyTrie>(tokens);
  vocabulary.encode = [](std::string_view text) {
    std::vector<int32_t> ids;
    for (char byte : text) ids.push_back(static_cast<uint8_t>(byte));
    return ids;
  };
  return vocabulary;
}

RecordedTurn read_recorded_turn(const json::object& turn, const json::object& definitions) {
  RecordedTurn read{.id = text_of(turn, "id"), .form = text_of(turn, "form")};
  if (read.form.empty()) read.form = text_of(turn, "family");
  if (const json::array* tools = list_of(turn, "tools")) {
    for (const json::value& tool : *tools) {
      read.order.tools.push_back(read_tool(tool, definitions));
    }
  }
  read.order.choice = read_choice(turn, !read.order.tools.empty());
  read.order.prompt_tail = text_of(turn, "prompt_tail");
  read.cut = text_of(turn, "end") == "length";
  const json::array* pieces = list_of(turn, "pieces");
  if (pieces == nullptr) fail(ErrorCode::kRequest, "'pieces' is missing");
  for (const json::value& piece : *pieces) {
    if (!piece.is_object()) fail(ErrorCode::kRequest, "'pieces' must contain objects");
    const bool control = piece.get_object().contains("control");
    read.pieces.push_back({text_of(piece.get_object(), control ? "control" : "text"), control});
  }
  return read;
}

std::vector<int32_t> tokens_of(const RecordedTurn& turn, const TurnVocabulary& vocabulary) {
  std::vector<int32_t> tokens;
  for (const RecordedTurn::Piece& piece : turn.pieces) {
    const auto marker = std::ranges::find(vocabulary.markers, piece.text, &MarkerToken::text);
    if (piece.control && marker != vocabulary.markers.end()) {
      tokens.push_back(marker->id);
      continue;
    }
    std::ranges::copy(vocabulary.encode(piece.text), std::back_inserter(tokens));
  }
  if (!turn.cut && vocabulary.end >= 0) tokens.push_back(vocabulary.end);
  return tokens;
}

void join_events(const std::vector<TurnEvent>& events, TurnMessage* message) {
  for (const TurnEvent& event : events) {
    switch (event.kind) {
      case TurnEvent::Kind::kContent:
        message->content += event.text;
        break;
      case TurnEvent::Kind::kReasoning:
        message->reasoning += event.text;
        break;
      case TurnEvent::Kind::kCall:
        message->calls.push_back({.id = event.id, .name = event.text});
        break;
      case TurnEvent::Kind::kArguments:
        message->calls.at(event.call).arguments += event.text;
        break;
      case TurnEvent::Kind::kCallEnd:
        message->calls.at(event.call).whole = true;
        if (!event.id.empty()) message->calls.at(event.call).id = event.id;
        break;
    }
  }
}

TurnMessage read_turn(std::shared_ptr<const TurnLanguage> language,
                      std::span<const int32_t> tokens) {
  TurnReader reader(std::move(language));
  TurnMessage message;
  std::vector<TurnEvent> events;
  for (int32_t token : tokens) reader.take(token, &events);
  reader.end(&events);
  join_events(events, &message);
  return message;
}

std::string turn_message_json(const RecordedTurn& turn, const TurnMessage& message) {
  Json out;
  out.object();
  if (!turn.id.empty()) out.key("id").text(turn.id);
  out.key("message").object().key("role").text("assistant").key("content");
  if (message.content.empty() && !message.calls.empty()) {
    out.null();
  } else {
    out.text(message.content);
  }
  if (!message.reasoning.empty()) out.key("reasoning_content").text(message.reasoning);
  if (!message.calls.empty()) {
    out.key("tool_calls").array();
    for (const TurnMessage::Call& call : message.calls) {
      out.object();
      if (!call.id.empty()) out.key("id").text(call.id);
      out.key("type").text("function").key("function").object();
      out.key("name").text(call.name).key("arguments").text(call.arguments);
      out.end_object().end_object();
    }
    out.end_array();
  }
  out.end_object();
  const char* finish = turn.cut ? "length" : message.calls.empty() ? "stop" : "tool_calls";
  return out.key("finish_reason").text(finish).end_object().line();
}

}  // namespace hearth
