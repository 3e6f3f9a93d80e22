#include "server/responses_api.h"

#include <fmt/format.h>

#include <utility>

#include "server/responses_reply.h"
#include "server/responses_request.h"

namespace hearth {
namespace {

class ResponsesApi final : public TextApi {
 public:
  CompletionCall read(std::string_view body, const SamplingParams& defaults,
                      const RequestLimits& limits, uint32_t vocabulary) override {
    ResponsesBody asked = read_responses_body(body, limits);
    CompletionCall call = read_responses_call(asked, defaults, limits, vocabulary);
    names_ = std::move(asked.names);
    ignored_ = std::move(asked.ignored);
    echo_ = std::move(asked.echo);
    return call;
  }
  std::unique_ptr<ReplyForm> reply(ReplyStart start, const CompletionCall& call) override {
    const SamplingParams& sampling = call.request.sampling;
    return std::make_unique<ResponsesReply>(ResponseHead{.unique = std::move(start.unique),
                                                         .model = std::move(start.model),
                                                         .created = start.created,
                                                         .temperature = sampling.temperature,
                                                         .top_p = sampling.top_p,
                                                         .echo = std::move(echo_)});
  }
  ApiError named(ApiError error) const override { return names_.translated(std::move(error)); }
  std::string ignored() const override { return fmt::format("{}", fmt::join(ignored_, "; ")); }

 private:
  ResponsesNames names_;
  std::vector<std::string> ignored_;
  ResponsesEcho echo_;
};

}  // namespace

std::unique_ptr<TextApi> responses_api() { return std::make_unique<ResponsesApi>(); }

}  // namespace hearth
