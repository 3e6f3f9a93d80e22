// PiecedReply: the body of a reply made by the worker piece by piece, each once the client has
// taken the one before. So a reply takes the memory of its source and of one piece, however long it
// is, and the replies of several requests take turns.
//
// A body of one piece is sent with its length, a longer one chunked (in HTTP/1.0 up to the
// connection's end). If making a later piece fails, the connection is cut, so that no client takes
// what it has for the whole body.
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
  // The worker outlives the reactor's run().
  PiecedReply(std::shared_ptr<Exchange> exchange, RequestWorker& worker,
              std::unique_ptr<BodySource> source, HttpFields fields = {})
      : exchange_(std::move(exchange)),
        worker_(worker),
        source_(std::move(source)),
        fields_(std::move(fields)) {}

  // Makes the first piece, on the worker, and sends nothing yet. Throws what the source throws.
  void make();
  // Starts the reply, which keeps itself alive until its end. Any thread may call it.
  void hand_over();

 private:
  void ask();
  void go_on();
  void break_off();

  const std::shared_ptr<Exchange> exchange_;
  RequestWorker& worker_;
  const std::unique_ptr<BodySource> source_;
  HttpFields fields_;  // the reply's header fields
  std::string first_;
  std::atomic<bool> ended_{false};  // no more pieces follow
};

// Returns the error for a request whose reply does not fit into `all_reply_bytes`.
ApiError replies_full();

}  // namespace hearth
