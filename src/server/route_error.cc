#include "server/route_error.h"

#include <string>

#include "server/messages_reply.h"

namespace hearth {
namespace {

// Whether errors must have the form of Anthropic's Messages API, whose clients read no other.
bool is_of_messages(const HttpRequest& request) { return request.path.starts_with("/v1/messages"); }

}  // namespace

HttpReply route_error(const HttpRequest& request, const ApiError& error) {
  if (is_of_messages(request)) return messages_error_reply(error, request.id);
  return error_reply(error, request.dialect);
}

void answer_error(Exchange& exchange, HttpReply reply) {
  if (!exchange.events_begun()) return exchange.reply(std::move(reply));
  std::string event = std::move(reply.body);  // ends in a newline
  if (exchange.request().dialect == HttpDialect::kEvents) {
    event = (is_of_messages(exchange.request()) ? "event: error\ndata: " : "data: ") + event + "\n";
  }
  exchange.send(std::move(event));
  exchange.end();
}

}  // namespace hearth
