// ResponsesReply: a reply in the forms of OpenAI's Responses API (src/server/openapi.json describes
// each), whole and as events. JSON whatever the texts hold.
//
// The events of a stream, each with the next sequence_number from 0 on: response.created and
// response.in_progress; where it is asked for response.prompt_progress; for each item
// response.output_item.added, its part, its deltas, what they are together, and
// response.output_item.done; at last response.completed, response.incomplete, or error and
// response.failed. Where a summary is asked for, all that tells reasoning is told twice, as its
// text and as its summary. Items are reasoning, messages and calls, in the order in which the model
// says them. An item has one id, and the last response has the items that were streamed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/reply_form.h"
#include "server/responses_items.h"

namespace hearth {

class ResponsesReply final : public ReplyForm {
 public:
  explicit ResponsesReply(ResponseHead head) : head_(std::move(head)) {}

  std::string begin(const Usage& usage, uint32_t choices) override;
  // Returns the events of a part; a response has one choice.
  std::string part(const ChoicePart& part) override;
  std::string progress(const PromptProgress& progress) override;
  std::string end(const Usage& usage) override;
  std::string error(const ApiError& error) override;
  bool keeps_stream() const override { return true; }
  std::unique_ptr<BodySource> whole(std::vector<ChoicePart> choices, const Usage& usage) override;

 private:
  Json& open_event(Json& json, std::string_view type);
  Json& open_item_event(Json& json, std::string_view type);
  std::string state_event(std::string_view type, const ResponseState& state);
  std::string item_event(std::string_view type);
  std::string part_event(std::string_view type, std::string_view text);
  std::string delta_event(std::string_view delta);
  std::string text_event();
  std::string summary_event(std::string_view type, std::string_view member, std::string_view text);
  std::string close_summary();
  bool has_summary() const;
  std::string open(ResponseItem item);
  std::string add(ResponseItem::Kind kind, std::string_view text);
  std::string add_call(const CallPart& call);
  std::string close(std::string_view status);
  std::string finish(Finish finish);
  ResponseItem item_of(const CallPart& call) const;
  std::string_view status() const;

  const ResponseHead head_;
  std::vector<ResponseItem> items_;
  bool open_ = false;  // the last of them
  uint32_t call_ = 0;  // its number, of a call
  uint64_t sequence_ = 0;
  std::optional<Finish> finish_;
};

}  // namespace hearth
