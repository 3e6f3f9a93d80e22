#include "server/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "base/clock.h"
#include "http/reader.h"
#include "server/conversation.h"
#include "server/exception_error.h"
#include "server/reply_pieces.h"
#include "server/turn_choice.h"

namespace hearth {
namespace {

// A client with so many unsent bytes gets no more results until it reads; its sequences then wait.
constexpr size_t kMaxUnsentBytes = 256 << 10;
// The limit of unsent bytes while the server's memory for replies is full.
constexpr size_t kMinUnsentBytes = 16 << 10;
constexpr size_t kHeaderBytes = 1000;

uint64_t random_seed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

// Cuts a text to kHeaderBytes and replaces all but printable ASCII, for a header field and a line
// of the log.
std::string header_text(std::string text) {
  if (text.size() > kHeaderBytes) text.replace(kHeaderBytes - 3, text.npos, "...");
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

Completion::Completion(Completions& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                       const ServedModel& model, std::unique_ptr<TextApi> api)
    : Answer(answers, std::move(exchange), &all.metrics_.requests),
      all_(all),
      model_(model),
      api_(std::move(api)) {}

Completion::~Completion() = default;

void Completion::begin() {
  // Refuses the request before its body is read if there is no place for even one text.
  if (std::optional<ApiError> error = all_.find_room(client(), 1)) return fail(*error);
  auto read_and_submit = [this] {
    read();
    on_reactor([this] { submit(); });
  };
  on_worker(read_and_submit, exchange().request().body.size());
}

void Completion::read() {
  auto vocabulary = static_cast<uint32_t>(model_.backend.tokenizer().size());
  // The lease holds the body's memory in the server's budget until its texts have become tokens.
  BodyLease lease;
  std::string body = exchange().take_body(&lease);
  call_ = api_->read(body, model_.sampling, all_.options_.limits, vocabulary);
  if (!was_chosen_for() && !call_.model.empty() && !api_->names(call_.model, model_.name)) {
    throw RequestError(no_such_model(call_.model, model_.name));
  }
  settle_request();
  try {
    check_context();
    call_.chat ? read_conversation() : read_prompts();
  } catch (const RequestError& error) {
    throw RequestError(api_->named(error.api()));
  }
  // The messages may be large, and are no longer needed: they are tokens now.
  call_.messages = {};
  call_.template_kwargs = {};
  call_.prompts = {};
  reply_ = api_->reply({.unique = exchange().request().id,
                        .created = std::time(nullptr),
                        .model = model_.name,
                        .fingerprint = model_.fingerprint},
                       call_);
}

void Completion::settle_request() {
  SamplingParams& sampling = call_.request.sampling;
  if (!call_.seed_given) sampling.seed = random_seed();
  const std::vector<int32_t>& eog = model_.backend.tokenizer().vocab().eog;
  if (sampling.min_tokens > 0) {
    sampling.late = call_.request.stop_tokens;
    sampling.late.insert(sampling.late.end(), eog.begin(), eog.end());
  }
  if (!call_.ignore_eos) return;
  for (int32_t id : eog) {
    sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
}

// Sets the grammar of a completion's output. Clears the request's stops, since such a text ends
// where its grammar ends.
void Completion::settle_language() {
  if (call_.shape.kind == OutputKind::kFree) return;
  call_.request.language = model_.languages->find(call_.shape, model_.backend.tokenizer());
  call_.request.stops.clear();
  call_.request.stop_tokens.clear();
  call_.shape = {};  // its schema may be large
}

// Chooses the grammar of a chat's turn (reasoning, content, calls), which depends on how much of
// the turn the prompt has begun.
void Completion::settle_turn(const RenderedChat& chat) {
  const TurnFormat* format = model_.turns;
  TurnOrder& order = call_.turn;
  const bool plain = order.tools.empty() && call_.shape.kind == OutputKind::kFree;
  // A request for control tokens in the text gets the turn's markup as text, unsplit.
  const bool splits =
      format != nullptr && format->reasons() && !(plain && call_.request.special_text);
  if (order.tools.empty() && !splits) return settle_language();
  order.answer = std::exchange(call_.shape, {});
  order.prompt_tail = prompt_tail(chat, call_.continue_final);
  order.prompt_goes_on = call_.continue_final;
  turn_ = model_.languages->find_turn(*format, order, model_.backend.tokenizer());
  relaxed_ = header_text(fmt::format("{}", fmt::join(turn_->relaxed, "; ")));
  order = {};
  // The engine looks for stop strings in those parts of the turn that its grammar calls content.
  Request& request = call_.request;
  if (turn_->bound || !request.stops.empty()) request.language = turn_->begin;
  request.stop_tags = turn_->stop_tags;
  if (turn_->bound) request.stop_tokens.clear();
}

void Completion::check_context() const {
  const uint32_t context = model_.backend.context();
  if (call_.context <= context) return;
  throw RequestError(
      kInvalidValue, "num_ctx",
      fmt::format(
          "is {}, more than this server's context of {}: ask for less, or start it with --ctx {}",
          call_.context, context, call_.context));
}

void Completion::read_conversation() {
  check_turns(model_, call_);
  Pace turns = pace();
  const RenderedChat rendered = render_conversation(model_, &call_, &turns);
  settle_turn(rendered);
  // Encoding stops one token above the context: such a prompt is refused anyway.
  add_prompt(model_.chat.encode(rendered, model_.backend.context(), &turns), "");
  if (model_.backend.asks_first_turn()) {
    call_.request.first_turn =
        model_.chat.first_turn_tokens(call_.messages, call_.template_kwargs, &turns);
  }
}

void Completion::read_prompts() {
  settle_language();
  const Tokenizer& tokenizer = model_.backend.tokenizer();
  Pace turns = pace();
  EncodeOptions options;
  options.add_eos = false;
  options.most = model_.backend.context();  // encoding stops one token above, which is refused
  options.pace = &turns;
  for (const Prompt& prompt : call_.prompts) {
    if (ended()) return;
    std::vector<int32_t> tokens = prompt.ids ? *prompt.ids : tokenizer.encode(prompt.text, options);
    std::string echo;
    const bool scored = call_.request.prompt_logprobs;
    if (call_.echo && !scored) echo = prompt.ids ? tokenizer.decode(tokens) : prompt.text;
    add_prompt(std::move(tokens), std::move(echo));
    if (!scored) continue;
    parts_.back().scored = std::make_shared<EchoedPrompt>(tokenizer, parts_.back().tokens);
  }
  if (call_.request.prompt_logprobs) check_logprobs();
}

void Completion::check_logprobs() const {
  uint64_t tokens = 0;
  for (const Part& part : parts_) tokens += part.token_count;
  const uint64_t each = uint64_t{call_.request.top_logprobs} + 1;
  const uint64_t all = tokens * each * call_.request.choices;
  if (all <= kMaxPromptLogprobs) return;
  throw RequestError(
      kInvalidValue, "logprobs",
      fmt::format(
          "with echo asks for {} log-probabilities of prompts ({} tokens, times logprobs + 1, "
          "times n), and the limit of a request is {}: give fewer prompts or ask for less",
          all, tokens, kMaxPromptLogprobs));
}

void Completion::add_prompt(std::vector<int32_t> tokens, std::string echo) {
  const char* field = call_.chat ? "messages" : "prompt";
  if (tokens.empty()) {
    throw RequestError(kInvalidValue, field,
                       "is empty, and the model adds no beginning-of-text token: give some text");
  }
  if (tokens.size() > model_.backend.context()) {
    throw RequestError(
        {400,
         "",
         "context_length_exceeded",
         fmt::format("the prompt has at least {} tokens, more than the context of {}: shorten it",
                     tokens.size(), model_.backend.context()),
         field,
         {}});
  }
  uint64_t count = tokens.size();
  parts_.push_back({std::move(tokens), count, std::move(echo)});
}

std::unique_ptr<ChoiceReader> Completion::choice_reader(uint32_t choice) const {
  const Tokenizer& tokenizer = model_.backend.tokenizer();
  if (turn_ != nullptr) {
    return std::make_unique<TurnChoice>(tokenizer, turn_, choice, call_.request,
                                        call_.include_reasoning);
  }
  return std::make_unique<ChoiceText>(tokenizer, choice, call_.request.logprobs,
                                      call_.request.special_text,
                                      parts_[choice / call_.request.choices].scored);
}

HttpFields Completion::reply_fields() const {
  HttpFields fields;
  if (!relaxed_.empty()) fields.push_back({"X-Hearth-Relaxed", relaxed_});
  const std::string ignored = header_text(api_->ignored());
  if (!ignored.empty()) fields.push_back({"X-Hearth-Ignored", ignored});
  return fields;
}

uint32_t Completion::texts() const {
  return static_cast<uint32_t>(parts_.size()) * call_.request.choices;
}

void Completion::submit() {
  if (computes()) {
    if (std::optional<ApiError> error = all_.take_places(*this, texts())) return fail(*error);
    places_ = texts();
  }
  stream_ = std::make_shared<ResultStream>(result_room(texts()));
  stream_->set_on_results([weak = weak_from_this()] {
    auto self = std::static_pointer_cast<Completion>(weak.lock());
    if (self && !self->results_posted_.exchange(true)) self->take_results_soon();
  });
  uint64_t kept = 0;
  for (const Part& part : parts_) kept += part.echo.size() * call_.request.choices;
  // All of the prompts' scores may be in memory at once, if the stream's client does not read.
  if (call_.stream && call_.request.prompt_logprobs) {
    using Likely = decltype(TokenScore::top)::value_type;
    const uint64_t each = sizeof(TokenScore) + sizeof(Likely) * call_.request.top_logprobs;
    for (const Part& part : parts_) kept += part.token_count * each;
  }
  if (!exchange().hold(kept)) return fail(replies_full());
  for (uint32_t choice = 0; choice < texts(); ++choice) {
    const std::string& echo = parts_[choice / call_.request.choices].echo;
    choices_.push_back(choice_reader(choice));
    whole_.push_back({.index = choice, .text = echo});
  }
  submitted_seconds_ = steady_seconds();
  if (computes()) submit_prompts();
  if (call_.stream) begin_events();
  if (!computes()) end_uncomputed();
}

// Ends the choices of a request that needs no token from the engine.
void Completion::end_uncomputed() {
  Result none;
  none.finish = Finish::kLength;
  std::string events;
  for (uint32_t choice = 0; choice < texts(); ++choice) {
    if (!give(choice, none, &events)) return;
  }
  if (!events.empty()) exchange().send(std::move(events));
  finish();
}

// Called by the engine's thread, which no exception may reach.
void Completion::take_results_soon() noexcept {
  try {
    on_reactor([this] {
      results_posted_ = false;
      take_results();
    });
  } catch (const std::exception&) {
    exchange().fall_short();
  }
}

void Completion::submit_prompts() {
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    Request request = call_.request;
    request.client = client();
    request.prompt = std::move(parts_[i].tokens);
    if (!call_.generates) {
      request.deliver = Deliver::kPrompt;
      request.choices = 1;
    }
    jobs_.push_back(model_.backend.submit(std::move(request), stream_));
    prompt_of_[jobs_.back().id()] = i;
    all_.metrics_.prompt_tokens.add(parts_[i].token_count);
  }
}

void Completion::begin_events() {
  streaming_ = true;
  if (!exchange().events_begun()) exchange().begin_events(reply_fields());
  exchange().on_drained([weak = weak_from_this()] {
    auto self = std::static_pointer_cast<Completion>(weak.lock());
    if (self) self->go_on();
  });
  std::string events = reply_->begin(usage(), texts());
  for (const ChoicePart& part : whole_) {
    if (!part.empty()) events += reply_->part(part);
  }
  if (!events.empty()) exchange().send(std::move(events));
}

// Called once the client has read all unsent bytes: goes on with taking results.
void Completion::go_on() {
  stalled_since_.reset();
  guarded([this] { take_results(); });
}

void Completion::take_results() {
  if (finishing_) return;
  std::string events = read_so_far();
  const size_t most = exchange().replies_full() ? kMinUnsentBytes : kMaxUnsentBytes;
  while (!ended() && (!streaming_ || exchange().unsent() + events.size() < most)) {
    std::optional<Result> result = stream_->try_pop();
    if (!result) break;
    // Reports progress in reading the prompt before this result: more may have come since the loop
    // began.
    events += read_so_far();
    if (result->finish && !finish_reason(*result->finish)) {
      if (result->error == kNoMemory) return exchange().fall_short();
      bool cancelled = *result->finish == Finish::kCancelled;
      if (!events.empty()) exchange().send(std::move(events));
      return fail(
          {cancelled ? 503u : 500u, "", cancelled ? "cancelled" : "generation_failed",
           cancelled ? "the server was shut down before this answer was complete" : result->error});
    }
    note_times(*result);
    const auto [begin, end] = choices_of(*result);
    for (uint32_t choice = begin; choice < end; ++choice) {
      if (!give(choice, *result, &events)) return;
    }
  }
  if (!events.empty()) exchange().send(std::move(events));
  if (!ended() && finished_ == texts()) return finish();
  if (streaming_ && !stalled_since_ && exchange().unsent() >= most) {
    stalled_since_ = steady_seconds();
  }
}

// Returns an event with the prompt tokens read so far; "" where the client did not ask for it or
// nothing changed.
std::string Completion::read_so_far() {
  if (!streaming_ || !call_.request.report_read) return {};
  const PromptRead read = stream_->read();
  if (read == std::exchange(reported_read_, read)) return {};
  return reply_->progress({usage().prompt_tokens, read.cached, read.tokens, read.seconds});
}

double Completion::stalled_seconds() const {
  return stalled_since_ && !ended() ? steady_seconds() - *stalled_since_ : 0;
}

void Completion::give_way() {
  ApiError error{503, "", "client_too_slow",
                 "the stream was ended, as its client did not read it while other requests waited: "
                 "read faster or ask for less"};
  exchange().send(reply_->error(error));
  exchange().end();
  end(Outcome::kCancelled, kClientClosedRequest, error.code);
}

// Returns the choices that a result belongs to: all of its prompt for a result about the prompt,
// else one.
Completion::Choices Completion::choices_of(const Result& result) const {
  const uint32_t each = call_.request.choices;
  const uint32_t first = prompt_of_.at(result.request) * each;
  if (!call_.generates || !result.prompt_logprobs.empty()) return {first, first + each};
  return {first + result.choice, first + result.choice + 1};
}

// Hands a result to one choice and adds its part to `events` or the whole reply. Returns false if
// the memory for replies was full; the answer has then ended.
bool Completion::give(uint32_t choice, const Result& result, std::string* events) {
  ChoicePart part = choices_[choice]->take(result);
  if (part.finish) note_choice(*choices_[choice], result);
  const bool keeps = !streaming_ || reply_->keeps_stream();
  if (keeps && !exchange().hold(bytes_of(part))) {
    if (!events->empty()) exchange().send(std::move(*events));
    fail(replies_full());
    return false;
  }
  if (!streaming_) {
    whole_[part.index].append(std::move(part));
  } else if (!part.empty()) {
    *events += reply_->part(part);
  }
  return true;
}

// Counts a choice that has ended, and observes the seconds between its tokens.
void Completion::note_choice(const ChoiceReader& choice, const Result& result) {
  ++finished_;
  if (choice.tokens() < 2) return;
  const double seconds = result.computed_seconds - result.first_token_seconds;
  all_.metrics_.token_seconds.observe(seconds / (choice.tokens() - 1));
}

void Completion::note_times(const Result& result) {
  parts_[prompt_of_.at(result.request)].cached = result.cached_tokens;
  if (admitted_at_ == 0) admitted_at_ = result.admitted_seconds;
  if (first_token_at_ == 0) first_token_at_ = result.first_token_seconds;
  computed_at_ = std::max(computed_at_, result.computed_seconds);
  if (!queue_seconds_ && result.admitted_seconds > 0) {
    queue_seconds_ = result.admitted_seconds - submitted_seconds_;
    all_.metrics_.queue_seconds.observe(*queue_seconds_);
  }
  if (!first_token_seconds_ && result.first_token_seconds > 0) {
    first_token_seconds_ = result.first_token_seconds - exchange().request().received_seconds;
    all_.metrics_.first_token_seconds.observe(*first_token_seconds_);
    all_.metrics_.prefill_seconds.observe(result.first_token_seconds - result.admitted_seconds);
  }
}

Usage Completion::usage() const {
  Usage usage;
  for (const Part& part : parts_) {
    usage.prompt_tokens += part.token_count;
    usage.cached_tokens += part.cached;
  }
  for (const auto& choice : choices_) {
    usage.completion_tokens += choice->tokens();
    usage.texts += choice->tokens() > 0 ? 1 : 0;
    usage.reasoning_tokens += choice->reasoning_tokens();
  }
  usage.total_seconds = steady_seconds() - exchange().request().received_seconds;
  usage.prompt_seconds = std::max(first_token_at_ - admitted_at_, 0.0);
  usage.generation_seconds = std::max(computed_at_ - first_token_at_, 0.0);
  return usage;
}

void Completion::finish() {
  bool stopped = true;
  for (const auto& choice : choices_) stopped &= finish_reason(*choice->finish()) == "stop";
  Outcome outcome = stopped ? Outcome::kStop : Outcome::kLength;
  if (streaming_) {
    exchange().send(reply_->end(usage()));
    exchange().end();
    return end(outcome, 200, "");
  }
  // Log-probabilities may make the reply large, so the worker makes it. The request holds its
  // places until the reply is handed over.
  finishing_ = true;
  on_worker([this, outcome] {
    reply_with(reply_->whole(std::move(whole_), usage()), outcome, reply_fields());
  });
}

void Completion::send_error(const ApiError& error) {
  if (!streaming_) return Answer::send_error(error);
  exchange().send(reply_->error(error));
  exchange().end();
}

void Completion::let_go() noexcept {
  jobs_.clear();  // cancels those still running
  if (stream_) stream_->close();
  all_.give_back(*this);
}

void Completion::forget() noexcept {
  Answer::forget();
  jobs_.clear();
}

void Completion::note(LogEntry* entry) const {
  if (submitted_seconds_ > 0) {  // if 0, the worker may still use these members
    Usage sums = usage();
    entry->prompt_tokens = sums.prompt_tokens;
    entry->cached_tokens = sums.cached_tokens;
    entry->generated_tokens = sums.completion_tokens;
    entry->relaxed = relaxed_;
    if (const double rate = generation_rate(sums); rate > 0) entry->tokens_per_second = rate;
  }
  entry->queue_seconds = queue_seconds_;
  entry->first_token_seconds = first_token_seconds_;
}

}  // namespace hearth
