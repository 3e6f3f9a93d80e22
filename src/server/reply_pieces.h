// Large bodies of replies, made by the worker piece by piece while they are written: the next piece
// when the client has taken the one before. So a reply takes the memory of what it is made of and
// of a piece, however large it is, and those of several requests take turns.
//
// A body of one piece is sent with its length; a longer one chunked, for HTTP/1.0 up to the
// connection's end. Where making a later piece fails, the connection ends in the middle, so that no
// client takes what it has for the whole.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "http/api_error.h"
#include "http/exchange.h"
#include "server/body_source.h"
#include "server/request_worker.h"

namespace hearth {

class PiecedReply : public std::enable_shared_from_this<PiecedReply> {
 public:
  // The worker outlives the reactor's run.
  PiecedReply(std::shared_ptr<Exchange> exchange, RequestWorker& worker,
              std::unique_ptr<BodySource> source, HttpFields fields = {})
      : exchange_(std::move(exchange)),
        worker_(worker),
        source_(std::move(source)),
        fields_(std::move(fields)) {}

  // Makes the first piece; by the worker. Throws what making it throws; nothing is sent yet.
  void make();
  // Any thread hands the answer over to itself: it goes on alone from there.
  void hand_over();

 private:
  void ask();
  void go_on();
  void break_off();

  const std::shared_ptr<Exchange> exchange_;
  RequestWorker& worker_;
  const std::unique_ptr<BodySource> source_;
  HttpFields fields_;  // of the reply's header
  std::string first_;
  std::atomic<bool> ended_{false};  // no piece is to come
};

// The error for a request whose reply finds no room in `all_reply_bytes`.
ApiError replies_full();

}  // namespace hearth
