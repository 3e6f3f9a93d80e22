#include "http/exchange.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "http/api_error.h"
#include "http/exchange_state.h"

namespace hearth {
namespace {

// Bytes that a reply may hold even where the budget is used up, so that errors and metrics always
// get through.
constexpr uint64_t kSmallReply = 16 << 10;

ApiError no_answer() {
  return http_error(500, "internal_error", "The server failed to answer this request.");
}

}  // namespace

bool AnswerMailbox::add(std::shared_ptr<ExchangeState> state) noexcept {
  std::lock_guard lock(mutex_);
  if (!wake_) return false;
  if (std::exchange(state->queued_, true)) return true;
  ExchangeState* before = std::exchange(last_, state.get());
  if (first_) {
    before->next_ = std::move(state);
  } else {
    first_ = std::move(state);
    wake_();
  }
  return true;
}

// Takes the first state off a list that deliver() took out of the mailbox. Null where it is empty.
std::shared_ptr<ExchangeState> AnswerMailbox::take_next(std::shared_ptr<ExchangeState>* first) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<ExchangeState> state = std::move(*first);
  if (!state) return state;
  *first = std::move(state->next_);
  state->queued_ = false;
  return state;
}

void AnswerMailbox::deliver() {
  std::shared_ptr<ExchangeState> ready;
  {
    std::lock_guard lock(mutex_);
    ready.swap(first_);
  }
  try {
    while (std::shared_ptr<ExchangeState> state = take_next(&ready)) {
      if (auto sink = state->sink()) sink->answer_ready();
      // This comes last: another thread may have called fall_short() while the sink took the
      // answer.
      state->call_if_short();
      state->call_if_gone();
    }
  } catch (const std::exception&) {
    // The other states go back to the mailbox for the next turn.
    while (std::shared_ptr<ExchangeState> state = take_next(&ready)) add(std::move(state));
    throw;
  }
}

void AnswerMailbox::close() {
  std::shared_ptr<ExchangeState> ready;
  {
    std::lock_guard lock(mutex_);
    wake_ = nullptr;
    ready.swap(first_);
  }
  // States are released one by one: releasing the first alone would destroy the whole linked list
  // by recursion.
  while (take_next(&ready)) {
  }
}

ExchangeState::ExchangeState(HttpRequest request, BodyLease lease,
                             std::shared_ptr<ReplyBudget> replies,
                             std::shared_ptr<AnswerMailbox> mailbox, std::weak_ptr<AnswerSink> sink)
    : request_(std::move(request)),
      lease_(std::move(lease)),
      replies_(std::move(replies)),
      mailbox_(std::move(mailbox)),
      sink_(std::move(sink)) {}

ExchangeState::~ExchangeState() { let_go(); }

// Gives back the memory of an answer that is over.
void ExchangeState::let_go() {
  replies_->give(std::exchange(held_, 0));
  replies_->give(unsent_.exchange(0));
}

bool ExchangeState::hold(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (takes_nothing()) return true;
  if (held_ + bytes <= kSmallReply) {
    replies_->add(bytes);
  } else if (!replies_->take(bytes)) {
    return false;
  }
  held_ += bytes;
  return true;
}

std::string ExchangeState::take_body(BodyLease* lease) {
  BodyLease leased = std::move(lease_);
  if (lease != nullptr) *lease = std::move(leased);
  return std::exchange(request_.body, {});
}

void ExchangeState::leave(std::unique_lock<std::mutex>& lock) noexcept {
  bool add = !std::exchange(in_mailbox_, true);
  lock.unlock();
  if (add) mailbox_->add(shared_from_this());
}

void ExchangeState::reply(HttpReply reply) {
  std::unique_lock lock(mutex_);
  if (takes_nothing()) return;
  HEARTH_CHECK(phase_ == Phase::kWaiting, "a request is answered once");
  phase_ = Phase::kEnded;
  if (reply.body.size() > held_) {
    replies_->add(reply.body.size() - held_);
    held_ = reply.body.size();
  }
  output_.reply = std::move(reply);
  output_.ended = true;
  leave(lock);
}

void ExchangeState::begin_events(HttpFields fields) {
  std::unique_lock lock(mutex_);
  if (takes_nothing()) return;
  HEARTH_CHECK(phase_ == Phase::kWaiting, "a request is answered once");
  phase_ = Phase::kEvents;
  events_begun_ = true;
  output_.events = std::move(fields);
  leave(lock);
}

void ExchangeState::begin_body(std::string content_type, HttpFields fields) {
  std::unique_lock lock(mutex_);
  if (takes_nothing()) return;
  HEARTH_CHECK(phase_ == Phase::kWaiting, "a request is answered once");
  phase_ = Phase::kPieces;
  fields.emplace(fields.begin(), "Content-Type", std::move(content_type));
  output_.pieces = std::move(fields);
  leave(lock);
}

void ExchangeState::break_off() {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::kPieces) return;
  phase_ = Phase::kEnded;
  output_.broken = true;
  leave(lock);
}

void ExchangeState::send(std::string bytes) {
  std::unique_lock lock(mutex_);
  if (takes_nothing() || bytes.empty()) return;
  HEARTH_CHECK(phase_ == Phase::kEvents || phase_ == Phase::kPieces,
               "what is sent in parts is sent between its begin and its end");
  const size_t count = bytes.size();
  if (output_.bytes.empty()) {
    output_.bytes = std::move(bytes);
  } else {
    output_.bytes += bytes;
  }
  unsent_ += count;
  replies_->add(count);
  leave(lock);
}

void ExchangeState::end() {
  std::unique_lock lock(mutex_);
  if (takes_nothing()) return;
  HEARTH_CHECK(phase_ == Phase::kEvents || phase_ == Phase::kPieces, "an answer ends once");
  phase_ = Phase::kEnded;
  output_.ended = true;
  leave(lock);
}

void ExchangeState::abandon() noexcept {
  Phase phase;
  {
    std::lock_guard lock(mutex_);
    phase = phase_;
  }
  try {
    if (phase == Phase::kWaiting) {
      return reply(error_reply(no_answer(), request_.dialect));
    }
    if (phase == Phase::kPieces) return break_off();
    if (phase != Phase::kEvents) return;
    send(streamed_error(no_answer(), request_.dialect));
    end();
  } catch (const std::bad_alloc&) {
    fall_short();
  }
}

void ExchangeState::fall_short() noexcept {
  std::unique_lock lock(mutex_);
  if (takes_nothing() || phase_ == Phase::kEnded) return;
  if (phase_ == Phase::kPieces) {
    output_.broken = true;
  } else {
    output_.short_of_memory = output_.ended = true;
  }
  if (phase_ == Phase::kEvents) {
    const size_t bytes = shortage_words(request_.dialect).event.size();
    unsent_ += bytes;
    replies_->add(bytes);
  }
  phase_ = Phase::kEnded;
  fell_short_ = true;
  leave(lock);
}

void ExchangeState::on_gone(std::function<void()> call) {
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::kWritten) return;
  on_gone_ = std::move(call);
  if (phase_ != Phase::kGone && !fell_short_) return;
  lock.unlock();
  if (!mailbox_->add(shared_from_this())) call_if_gone();
}

void ExchangeState::on_drained(std::function<void()> call) {
  auto shared = std::make_shared<std::function<void()>>(std::move(call));
  std::lock_guard lock(mutex_);
  if (!over()) on_drained_.swap(shared);
}

ExchangeState::Output ExchangeState::take() {
  std::lock_guard lock(mutex_);
  in_mailbox_ = false;
  return std::exchange(output_, {});
}

void ExchangeState::wrote(size_t bytes) {
  replies_->give(bytes);
  if (bytes == 0 || unsent_.fetch_sub(bytes) != bytes) return;
  std::shared_ptr<std::function<void()>> call;
  {
    std::lock_guard lock(mutex_);
    call = on_drained_;
  }
  if (call && *call) (*call)();
}

void ExchangeState::set_gone() {
  {
    std::lock_guard lock(mutex_);
    if (over()) return;
    phase_ = Phase::kGone;
  }
  call_if_gone();
}

void ExchangeState::call_if_gone() {
  std::function<void()> call;
  std::shared_ptr<std::function<void()>> drained;  // destroyed without the lock
  {
    std::lock_guard lock(mutex_);
    if (phase_ != Phase::kGone) return;
    call.swap(on_gone_);
    drained.swap(on_drained_);
    output_ = {};
    let_go();
  }
  if (call) call();
}

void ExchangeState::call_if_short() {
  if (!fell_short_) return;
  std::function<void()> call;
  std::shared_ptr<std::function<void()>> drained;  // destroyed without the lock
  {
    std::lock_guard lock(mutex_);
    call.swap(on_gone_);
    drained.swap(on_drained_);
  }
  if (call) call();
}

void ExchangeState::set_written() {
  std::function<void()> call;
  std::shared_ptr<std::function<void()>> drained;
  std::lock_guard lock(mutex_);
  if (over()) return;
  phase_ = Phase::kWritten;
  let_go();
  // If fall_short() ended the answer, the mailbox calls on_gone()'s function instead.
  if (!fell_short_) call.swap(on_gone_);
  drained.swap(on_drained_);
}

Exchange::Exchange(std::shared_ptr<ExchangeState> state) : state_(std::move(state)) {}
Exchange::~Exchange() { state_->abandon(); }
const HttpRequest& Exchange::request() const { return state_->request(); }
std::string Exchange::take_body(BodyLease* lease) { return state_->take_body(lease); }
void Exchange::reply(HttpReply reply) { state_->reply(std::move(reply)); }
void Exchange::begin_events(HttpFields fields) { state_->begin_events(std::move(fields)); }
bool Exchange::events_begun() const { return state_->events_begun(); }
void Exchange::send(std::string bytes) { state_->send(std::move(bytes)); }
void Exchange::end() { state_->end(); }
void Exchange::begin_body(std::string content_type, HttpFields fields) {
  state_->begin_body(std::move(content_type), std::move(fields));
}
void Exchange::break_off() { state_->break_off(); }
bool Exchange::hold(uint64_t bytes) { return state_->hold(bytes); }
bool Exchange::replies_full() const { return state_->replies_full(); }
void Exchange::fall_short() noexcept { state_->fall_short(); }
bool Exchange::fell_short() const { return state_->fell_short(); }
size_t Exchange::unsent() const { return state_->unsent(); }
void Exchange::on_gone(std::function<void()> call) { state_->on_gone(std::move(call)); }
void Exchange::on_drained(std::function<void()> call) { state_->on_drained(std::move(call)); }

}  // namespace hearth
