#include "server/reply_pieces.h"

#include <exception>
#include <utility>

#include "text/json.h"

namespace hearth {
namespace {

// As it stands between the quotes of a JSON string.
std::string json_inside(std::string_view text) {
  std::string line = Json().text(text).line();
  return line.substr(1, line.size() - 3);
}

}  // namespace

void PiecedReply::make() { ended_ = !source_->next(&first_); }

void PiecedReply::hand_over() {
  if (ended_) return exchange_->reply({.body = std::move(first_)});
  exchange_->on_drained([self = shared_from_this()] { self->ask(); });
  exchange_->begin_body("application/json");
  exchange_->send(std::exchange(first_, {}));
}

// By the reactor.
void PiecedReply::ask() {
  if (ended_) return;
  try {
    worker_.post([self = shared_from_this()] { self->go_on(); });
  } catch (const std::exception&) {
    break_off();
  }
}

// By the worker. Nobody else is here: a piece is asked for when the one before has left.
void PiecedReply::go_on() {
  try {
    std::string piece;
    bool more = source_->next(&piece);
    ended_ = !more;  // the last piece asks for no other when it leaves
    exchange_->send(std::move(piece));
    if (!more) exchange_->end();
  } catch (const std::exception&) {
    break_off();
  }
}

void PiecedReply::break_off() {
  ended_ = true;
  exchange_->break_off();
}

bool TextBody::next(std::string* body) {
  constexpr size_t kPartBytes = 16 << 10;
  if (!std::exchange(begun_, true)) body->append("{\"").append(key_).append("\":\"");
  // The caller may have something in it already.
  const size_t enough = body->size() + kPieceBytes;
  bool any = true;
  while (any && body->size() < enough) {
    std::string bytes;
    while (any && bytes.size() < kPartBytes) any = more(&bytes);
    body->append(json_inside(utf8_.push(bytes)));
  }
  if (!any) body->append(json_inside(utf8_.flush())).append("\"}\n");
  return any;
}

std::string whole_body(BodySource& source) {
  std::string body;
  while (source.next(&body)) {
  }
  return body;
}

ApiError replies_full() {
  return {503,
          "",
          "replies_full",
          "the replies under way take all the memory that they may: try again in a moment, or ask "
          "for less",
          {},
          {{"Retry-After", "1"}}};
}

}  // namespace hearth
