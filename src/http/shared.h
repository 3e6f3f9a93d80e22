// HttpShared: the state that a server's connections share. The reactor's thread uses it; any thread
// may read the atomic counts.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/connection_table.h"
#include "http/exchange_state.h"
#include "http/options.h"
#include "http/reader.h"
#include "http/reply.h"
#include "http/server.h"
#include "http/wake_slot.h"

namespace hearth {

class HttpConnection;

inline constexpr std::string_view kHttpContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// The size of the read buffer, in bytes.
inline constexpr size_t kHttpReadBytes = 64 << 10;

struct HttpShared {
  HttpShared(boost::asio::io_context& reactor, const HttpOptions& options, HttpCheck check,
             HttpHandler handler, HttpRefused refused);

  boost::asio::io_context& context;
  const HttpOptions options;
  HttpCheck check;
  HttpHandler handler;
  // Called when a connection ended, or became idle while the table is full.
  std::function<void()> on_room = [] {};
  HttpRefused refused;
  HttpTrouble trouble = [](const std::exception&) {};
  HttpReplyFields reply_fields = [](const HttpRequest&) { return HttpFields(); };
  std::shared_ptr<BodyBudget> bodies;
  std::shared_ptr<ReplyBudget> replies;
  WakeSlot answering;              // the mailbox's slot
  std::deque<WakeSlot> accepting;  // a slot for each listener
  std::shared_ptr<AnswerMailbox> mailbox;
  ConnectionTable<HttpConnection> table{SIZE_MAX, SIZE_MAX};
  std::atomic<bool> draining = false;  // connections end with their next answer
  std::atomic<size_t> connections = 0, exchanges = 0;
  std::atomic<uint64_t> displaced = 0, refused_connections = 0;
  std::vector<char> read_buffer;
  DateText date;
  uint64_t next_id;

  std::string make_id();
  void close_all();
};

}  // namespace hearth
