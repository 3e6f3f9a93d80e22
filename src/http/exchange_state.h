// ExchangeState: an answer under way, shared by its Exchange (any thread) and its connection (the
// reactor's thread). The sending thread leaves bytes here and puts the state into the mailbox,
// unless the state is there already. The mailbox wakes the reactor once for any number of answers,
// so many small events become few writes. It is a linked list of the states themselves: adding one
// needs no memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/exchange.h"
#include "http/reader.h"
#include "http/reply_budget.h"

namespace hearth {

// AnswerSink: the connection as an answer sees it. Called by the reactor's thread.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void answer_ready() = 0;
};

class AnswerMailbox {
 public:
  // `wake` makes the reactor call deliver(). Any thread calls it; it must not throw, and is not
  // called again before deliver() begins.
  explicit AnswerMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Adds a state; any thread may call it. Returns false where the reactor has ended.
  bool add(std::shared_ptr<ExchangeState> state) noexcept;
  // Called by the reactor's thread.
  void deliver();
  void close();

 private:
  std::shared_ptr<ExchangeState> take_next(std::shared_ptr<ExchangeState>* first);

  std::mutex mutex_;
  std::function<void()> wake_;  // empty: closed
  std::shared_ptr<ExchangeState> first_;
  ExchangeState* last_ = nullptr;
};

class ExchangeState : public std::enable_shared_from_this<ExchangeState> {
 public:
  struct Output {
    std::optional<HttpReply> reply;
    std::optional<HttpFields> events;  // begin events, with these fields
    std::optional<HttpFields> pieces;  // begin a body in pieces, with these fields
    std::string bytes;                 // the next bytes of events or of the body
    bool ended = false;
    bool broken = false;           // cut the connection within the body
    bool short_of_memory = false;  // send the shortage error in place of the rest
  };

  ExchangeState(HttpRequest request, BodyLease lease, std::shared_ptr<ReplyBudget> replies,
                std::shared_ptr<AnswerMailbox> mailbox, std::weak_ptr<AnswerSink> sink);
  ~ExchangeState();

  // Exchange forwards to these, and documents them.
  const HttpRequest& request() const { return request_; }
  std::string take_body(BodyLease* lease);
  void reply(HttpReply reply);
  void begin_events(HttpFields fields);
  bool events_begun() const { return events_begun_; }
  void send(std::string bytes);
  void end();
  void begin_body(std::string content_type, HttpFields fields);
  void break_off();
  bool hold(uint64_t bytes);
  bool replies_full() const { return replies_->full(); }
  void abandon() noexcept;
  void fall_short() noexcept;
  bool fell_short() const { return fell_short_; }
  size_t unsent() const { return unsent_; }
  void on_gone(std::function<void()> call);
  void on_drained(std::function<void()> call);

  // Called by the reactor's thread.
  std::shared_ptr<AnswerSink> sink() const { return sink_.lock(); }
  Output take();
  // Notes that so many bytes of events were written to the socket.
  void wrote(size_t bytes);
  // set_gone() notes that the client is gone, and calls on_gone()'s function. set_written() notes
  // that the whole answer was written. After either, nothing more is sent.
  void set_gone();
  void set_written();
  // call_if_gone() calls on_gone()'s function if the client has left. call_if_short() calls it if
  // fall_short() ended the answer.
  void call_if_gone();
  void call_if_short();

 private:
  enum class Phase { kWaiting, kEvents, kPieces, kEnded, kWritten, kGone };

  bool over() const { return phase_ == Phase::kWritten || phase_ == Phase::kGone; }
  bool takes_nothing() const { return over() || fell_short_; }
  void leave(std::unique_lock<std::mutex>& lock) noexcept;
  void let_go();

  friend class AnswerMailbox;
  // Used by the mailbox, under its mutex.
  std::shared_ptr<ExchangeState> next_;
  bool queued_ = false;

  HttpRequest request_;
  BodyLease lease_;
  std::shared_ptr<ReplyBudget> replies_;
  std::shared_ptr<AnswerMailbox> mailbox_;
  std::weak_ptr<AnswerSink> sink_;
  std::atomic<size_t> unsent_ = 0;
  std::atomic<bool> fell_short_ = false, events_begun_ = false;

  std::mutex mutex_;
  Phase phase_ = Phase::kWaiting;
  bool in_mailbox_ = false;
  uint64_t held_ = 0;  // bytes taken from the budget, without unsent ones
  Output output_;
  std::function<void()> on_gone_;
  std::shared_ptr<std::function<void()>> on_drained_;
};

}  // namespace hearth
