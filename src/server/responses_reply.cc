#include "server/responses_reply.h"

#include <fmt/format.h>

#include "base/check.h"

namespace hearth {
namespace {

using Kind = ResponseItem::Kind;

// Returns an event whose name and `type` are the same.
std::string named_event(std::string_view type, const Json& json) {
  return fmt::format("event: {}\ndata: {}\n", type, json.line());
}

std::string new_item_id(Kind kind, std::string_view unique, size_t index) {
  const char* prefix = kind == Kind::kReasoning ? "rs" : kind == Kind::kMessage ? "msg" : "fc";
  return fmt::format("{}_{}_{}", prefix, unique, index);
}

// Returns the type of an item's text event: "response.output_text.delta".
std::string text_event_type(Kind kind, std::string_view suffix) {
  const char* name = kind == Kind::kReasoning ? "reasoning_text"
                     : kind == Kind::kMessage ? "output_text"
                                              : "function_call_arguments";
  return fmt::format("response.{}.{}", name, suffix);
}

}  // namespace

Json& ResponsesReply::open_event(Json& json, std::string_view type) {
  return json.object().key("type").text(type).key("sequence_number").number(sequence_++);
}

// Opens an event about the last item.
Json& ResponsesReply::open_item_event(Json& json, std::string_view type) {
  open_event(json, type).key("item_id").text(items_.back().id);
  return json.key("output_index").number(uint64_t{items_.size() - 1});
}

std::string ResponsesReply::state_event(std::string_view type, const ResponseState& state) {
  Json json;
  open_event(json, type).key("response");
  write_response(json, head_, state);
  json.end_object();
  return named_event(type, json);
}

std::string ResponsesReply::item_event(std::string_view type) {
  Json json;
  open_event(json, type).key("output_index").number(uint64_t{items_.size() - 1}).key("item");
  write_response_item(json, head_, items_.back());
  json.end_object();
  return named_event(type, json);
}

std::string ResponsesReply::part_event(std::string_view type, std::string_view text) {
  Json json;
  open_item_event(json, type).key("content_index").number(uint64_t{0}).key("part");
  write_response_part(json, items_.back().kind, text);
  json.end_object();
  return named_event(type, json);
}

std::string ResponsesReply::delta_event(std::string_view delta) {
  const Kind kind = items_.back().kind;
  const std::string type = text_event_type(kind, "delta");
  Json json;
  open_item_event(json, type);
  if (kind != Kind::kCall) json.key("content_index").number(uint64_t{0});
  json.key("delta").text(delta);
  if (kind == Kind::kMessage) json.key("logprobs").array().end_array();
  json.end_object();
  return named_event(type, json);
}

// Returns the event that ends the last item's text, with all of it.
std::string ResponsesReply::text_event() {
  const ResponseItem& item = items_.back();
  const std::string type = text_event_type(item.kind, "done");
  Json json;
  open_item_event(json, type);
  if (item.kind == Kind::kCall) {
    json.key("name").text(item.name).key("arguments").text(item.text);
  } else {
    json.key("content_index").number(uint64_t{0}).key("text").text(item.text);
  }
  if (item.kind == Kind::kMessage) json.key("logprobs").array().end_array();
  json.end_object();
  return named_event(type, json);
}

// Whether the last item is also sent as a summary: it is reasoning, and the client asked for that.
bool ResponsesReply::has_summary() const {
  return head_.echo.summary && items_.back().kind == Kind::kReasoning;
}

// Returns an event about the last item's summary; the text is its `member`: "part", "delta" or
// "text".
std::string ResponsesReply::summary_event(std::string_view type, std::string_view member,
                                          std::string_view text) {
  Json json;
  open_item_event(json, type).key("summary_index").number(uint64_t{0}).key(member);
  member == "part" ? write_summary_part(json, text) : void(json.text(text));
  json.end_object();
  return named_event(type, json);
}

std::string ResponsesReply::close_summary() {
  const std::string& text = items_.back().text;
  std::string events = summary_event("response.reasoning_summary_text.done", "text", text);
  return events + summary_event("response.reasoning_summary_part.done", "part", text);
}

std::string ResponsesReply::open(ResponseItem item) {
  std::string events = close("completed");
  item.id = new_item_id(item.kind, head_.unique, items_.size());
  items_.push_back(std::move(item));
  open_ = true;
  events += item_event("response.output_item.added");
  if (items_.back().kind != Kind::kCall) events += part_event("response.content_part.added", "");
  if (has_summary()) events += summary_event("response.reasoning_summary_part.added", "part", "");
  return events;
}

std::string ResponsesReply::add(Kind kind, std::string_view text) {
  std::string events;
  if (!open_ || items_.back().kind != kind) events = open({.kind = kind, .id = ""});
  items_.back().text += text;
  events += delta_event(text);
  if (!has_summary()) return events;
  return events + summary_event("response.reasoning_summary_text.delta", "delta", text);
}

ResponseItem ResponsesReply::item_of(const CallPart& call) const {
  ResponseItem item{.kind = Kind::kCall, .id = "", .call_id = call.id, .name = call.name};
  const auto& namespaced = head_.echo.namespaced;
  if (auto known = namespaced.find(call.name); known != namespaced.end()) {
    item.name = known->second.name;
    item.space = known->second.space;
  }
  return item;
}

std::string ResponsesReply::add_call(const CallPart& call) {
  std::string events;
  const bool goes_on = open_ && items_.back().kind == Kind::kCall && call_ == call.index;
  if (!goes_on) {
    events = open(item_of(call));
    call_ = call.index;
  }
  if (call.arguments.empty()) return events;
  items_.back().text += call.arguments;
  return events + delta_event(call.arguments);
}

std::string ResponsesReply::close(std::string_view status) {
  if (!std::exchange(open_, false)) return "";
  ResponseItem& item = items_.back();
  item.status = status;
  std::string events = text_event();
  if (item.kind != Kind::kCall) events += part_event("response.content_part.done", item.text);
  if (has_summary()) events += close_summary();
  return events + item_event("response.output_item.done");
}

std::string_view ResponsesReply::status() const {
  HEARTH_CHECK(finish_.has_value(), "what failed is told as an error");
  return finish_reason(*finish_) == "stop" ? "completed" : "incomplete";
}

// Ends the last item. If the model generated nothing, the only item is an empty message.
std::string ResponsesReply::finish(Finish finish) {
  finish_ = finish;
  std::string events;
  if (items_.empty()) events = open({.kind = Kind::kMessage, .id = ""});
  return events + close(status());
}

std::string ResponsesReply::begin(const Usage&, uint32_t) {
  std::string events = state_event("response.created", {});
  return events + state_event("response.in_progress", {});
}

std::string ResponsesReply::progress(const PromptProgress& progress) {
  constexpr const char* kType = "response.prompt_progress";
  Json json;
  write_progress(open_event(json, kType), progress);
  json.end_object();
  return named_event(kType, json);
}

// Arguments that continue the open call come before reasoning and text, which open other items.
std::string ResponsesReply::part(const ChoicePart& part) {
  std::string events;
  auto calls = part.calls.begin();
  while (calls != part.calls.end() && calls->name.empty()) events += add_call(*calls++);
  if (!part.reasoning.empty()) events += add(Kind::kReasoning, part.reasoning);
  if (!part.text.empty()) events += add(Kind::kMessage, part.text);
  for (; calls != part.calls.end(); ++calls) events += add_call(*calls);
  if (part.finish && finish_reason(*part.finish)) events += finish(*part.finish);
  return events;
}

std::string ResponsesReply::end(const Usage& usage) {
  return state_event(fmt::format("response.{}", status()),
                     {.status = status(), .items = items_, .usage = &usage});
}

std::string ResponsesReply::error(const ApiError& error) {
  std::string events = close("incomplete");
  Json json;
  open_event(json, "error").key("code").text(error.code).key("message").text(error.message);
  json.key("param").text_or_null(error.param).end_object();
  events += named_event("error", json);
  return events +
         state_event("response.failed", {.status = "failed", .items = items_, .error = &error});
}

std::unique_ptr<BodySource> ResponsesReply::whole(std::vector<ChoicePart> choices,
                                                  const Usage& usage) {
  HEARTH_CHECK(choices.size() == 1, "a response has one choice");
  part(std::exchange(choices.front(), {}));
  Json json;
  write_response(json, head_, {.status = status(), .items = items_, .usage = &usage});
  return std::make_unique<MadeBody>(json.line());
}

}  // namespace hearth
