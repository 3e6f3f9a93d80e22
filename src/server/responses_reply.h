// ResponsesReply writes a reply in the forms of OpenAI's Responses API (src/server/openapi.json
// describes each), as one body or as events. Texts of any bytes give valid JSON.
//
// The events of a stream, with sequence_numbers from 0 on: response.created and
// response.in_progress; response.prompt_progress if asked for; for each item
// response.output_item.added, its part's beginning, its deltas, its whole text, and
// response.output_item.done; last response.completed, response.incomplete, or error and
// response.failed. If the client asked for a summary, reasoning is sent twice, as text and as
// summary.
//
// Items are reasoning, messages and calls, in the order in which the model generates them. An
// item's id never changes, and the last response has all items of the stream.
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
  bool open_ = false;  // the last item is open
  uint32_t call_ = 0;  // the open call's number
  uint64_t sequence_ = 0;
  std::optional<Finish> finish_;
};

}  // namespace hearth
