#include "bench/ask_model.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <limits>

#include "base/error.h"
#include "base/json_reader.h"
#include "bench/serve_answer.h"

namespace hearth {

std::string ask_model(Transport& transport, const ServeUrl& url, const std::string& key,
                      const std::function<double()>& clock) {
  constexpr double kModelSeconds = 30;
  constexpr uint64_t kId = std::numeric_limits<uint64_t>::max();
  transport.start(kId, serve_request(url, "/v1/models", key, {}));
  double latest = clock() + kModelSeconds;
  std::string body;
  std::vector<ReplyEvent> events;
  bool ended = false;
  while (!ended && clock() < latest) {
    events.clear();
    transport.wait(latest - clock(), &events);
    for (const ReplyEvent& event : events) {
      body += event.text;
      ended = event.kind != ReplyEvent::Kind::kBody;
      if (!ended || event.status == 200) continue;
      fail(ErrorCode::kResource,
           "cannot list the models: {}/v1/models answered {}: {}; name a model with --model",
           url.authority, event.status == 0 ? event.failure : fmt::format("HTTP {}", event.status),
           error_message(body));
    }
  }
  transport.abandon(kId);
  try {
    boost::json::value facts = read_json(body);
    return std::string(facts.at("data").at(0).at("id").as_string());
  } catch (const std::exception&) {
    fail(ErrorCode::kResource, "{}/v1/models lists no model; name one with --model", url.authority);
  }
}

}  // namespace hearth
