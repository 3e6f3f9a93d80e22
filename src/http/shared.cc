#include "http/shared.h"

#include <fmt/format.h>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>
#include <random>
#include <utility>

#include "http/connection.h"

namespace hearth {

HttpShared::HttpShared(boost::asio::io_context& reactor, const HttpOptions& limits, HttpCheck first,
                       HttpHandler then, HttpRefused otherwise)
    : context(reactor),
      options(limits),
      check(std::move(first)),
      handler(std::move(then)),
      refused(std::move(otherwise)),
      bodies(std::make_shared<BodyBudget>(limits.all_body_bytes)),
      replies(std::make_shared<ReplyBudget>(limits.all_reply_bytes)),
      read_buffer(kHttpReadBytes) {
  mailbox = std::make_shared<AnswerMailbox>([this] {
    auto deliver = [box = std::weak_ptr<AnswerMailbox>(mailbox)] {
      if (auto open_box = box.lock()) open_box->deliver();
    };
    boost::asio::post(context,
                      boost::asio::bind_allocator(WakeMemory(answering), std::move(deliver)));
  });
  std::random_device random;
  next_id = static_cast<uint64_t>(random()) << 32;
}

std::string HttpShared::make_id() { return fmt::format("req_{:016x}", next_id++); }

void HttpShared::close_all() {
  // Each connection that closes removes itself from the table.
  while (HttpConnection* connection = table.any()) connection->shared_from_this()->close();
}

}  // namespace hearth
