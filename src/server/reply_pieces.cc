#include "server/reply_pieces.h"

#include <exception>
#include <utility>

namespace hearth {

void PiecedReply::make() { ended_ = !source_->next(&first_); }

void PiecedReply::hand_over() {
  if (ended_) {
    return exchange_->reply({.fields = std::move(fields_), .body = std::move(first_)});
  }
  exchange_->on_drained([self = shared_from_this()] { self->ask(); });
  exchange_->begin_body("application/json", std::move(fields_));
  exchange_->send(std::exchange(first_, {}));
}

// Posts the making of the next piece to the worker. Called by the reactor.
void PiecedReply::ask() {
  if (ended_) return;
  try {
    worker_.post([self = shared_from_this()] { self->go_on(); }, exchange_);
  } catch (const std::exception&) {
    break_off();
  }
}

// Makes and sends a piece. Called by the worker, never twice at a time: the next piece is asked for
// once this one was sent.
void PiecedReply::go_on() {
  try {
    std::string piece;
    bool more = source_->next(&piece);
    ended_ = !more;  // the last piece: nothing is asked for when it was sent
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

ApiError replies_full() {
  return {
      503,
      "",
      "replies_full",
      "the replies being sent use all the memory for them: try again in a moment, or ask for less",
      {},
      {{"Retry-After", "1"}}};
}

}  // namespace hearth
