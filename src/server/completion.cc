#include "server/completion.h"

#include <fmt/format.h>

#include <limits>
#include <random>

#include "base/clock.h"
#include "http/reader.h"
#include "server/chat_messages.h"
#include "server/exception_error.h"
#include "server/reply_pieces.h"

namespace hearth {
namespace {

// A client that is so many bytes behind gets no more results for now; its sequences then wait.
constexpr size_t kMostUnsent = 256 << 10;
// The same where the replies of all have no room for more.
constexpr size_t kLeastUnsent = 16 << 10;

uint64_t random_seed() {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}

// What a part takes until its reply was written.
uint64_t bytes_of(const ChoicePart& part) {
  uint64_t bytes = part.text.size();
  for (const TokenEntry& entry : part.entries) {
    bytes += sizeof(entry) + entry.bytes.size();
    for (const auto& likely : entry.top) bytes += sizeof(likely) + likely.first.size();
  }
  return bytes;
}

}  // namespace

Completion::Completion(Completions& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                       const ServedModel& model, bool chat)
    : Answer(answers, std::move(exchange), &all.metrics_.requests),
      all_(all),
      model_(model),
      chat_(chat) {}

void Completion::begin() {
  // Before its body costs anything.
  if (std::optional<ApiError> error = all_.find_room(client(), 1)) return fail(*error);
  auto read_and_submit = [this] {
    read();
    on_reactor([this] { submit(); });
  };
  on_worker(read_and_submit, exchange().request().body.size());
}

void Completion::read() {
  auto vocabulary = static_cast<uint32_t>(model_.backend.tokenizer().size());
  // Its texts take as much until they are tokens.
  BodyLease lease;
  std::string body = exchange().take_body(&lease);
  const RequestLimits& limits = all_.options_.limits;
  call_ = chat_ ? read_chat_call(body, model_.sampling, limits, vocabulary)
                : read_text_call(body, model_.sampling, limits, vocabulary);
  if (!call_.model.empty() && call_.model != model_.name) {
    throw RequestError(no_such_model(call_.model, model_.name));
  }
  settle_request();
  settle_language();
  read_prompts();
  // They may be large, and are tokens now.
  call_.messages = {};
  call_.template_kwargs = {};
  call_.prompts = {};
  const HttpRequest& http = exchange().request();
  head_ = {.chat = chat_,
           .id = reply_id(chat_, http.id),
           .created = std::time(nullptr),
           .model = model_.name,
           .fingerprint = model_.fingerprint,
           .logprobs = call_.request.logprobs,
           .include_usage = call_.include_usage};
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

// What ends a text of free form ends no other: it is over where its language says so.
void Completion::settle_language() {
  if (call_.shape.kind == OutputKind::kFree) return;
  call_.request.language = all_.languages_.find(call_.shape, model_.backend.tokenizer());
  call_.request.stops.clear();
  call_.request.stop_tokens.clear();
  call_.shape = {};  // it may be large
}

void Completion::read_prompts() {
  const Tokenizer& tokenizer = model_.backend.tokenizer();
  // Of one token more than the context holds the request is refused.
  const size_t most = model_.backend.context();
  Pace turns = pace();
  if (chat_) {
    RenderedChat rendered = model_.chat.render(call_.messages, call_.template_kwargs, &turns);
    if (call_.continue_final) end_with_final_message(call_.messages, &rendered);
    add_prompt(model_.chat.encode(rendered, most, &turns), "");
    if (model_.backend.asks_first_turn()) {
      call_.request.first_turn =
          model_.chat.first_turn_tokens(call_.messages, call_.template_kwargs, &turns);
    }
    return;
  }
  EncodeOptions options;
  options.add_eos = false;
  options.most = most;
  options.pace = &turns;
  for (const Prompt& prompt : call_.prompts) {
    if (ended()) return;
    const auto* text = std::get_if<std::string>(&prompt);
    std::vector<int32_t> tokens =
        text != nullptr ? tokenizer.encode(*text, options) : std::get<std::vector<int32_t>>(prompt);
    std::string echo;
    if (call_.echo) echo = text != nullptr ? *text : tokenizer.decode(tokens);
    add_prompt(std::move(tokens), std::move(echo));
  }
}

void Completion::add_prompt(std::vector<int32_t> tokens, std::string echo) {
  const char* field = chat_ ? "messages" : "prompt";
  if (tokens.empty()) {
    throw RequestError(kInvalidValue, field, "is empty and no token stands before it");
  }
  if (tokens.size() > model_.backend.context()) {
    throw RequestError({400,
                        "",
                        "context_length_exceeded",
                        fmt::format("the prompt has at least {} tokens and the context holds {}: "
                                    "shorten it",
                                    tokens.size(), model_.backend.context()),
                        field,
                        {}});
  }
  uint64_t count = tokens.size();
  parts_.push_back({std::move(tokens), count, std::move(echo)});
}

uint32_t Completion::texts() const {
  return static_cast<uint32_t>(parts_.size()) * call_.request.choices;
}

void Completion::submit() {
  if (std::optional<ApiError> error = all_.take_places(*this, texts())) return fail(*error);
  places_ = texts();
  stream_ = std::make_shared<ResultStream>(result_room(texts()));
  stream_->set_on_results([weak = weak_from_this()] {
    auto self = std::static_pointer_cast<Completion>(weak.lock());
    if (self && !self->told_.exchange(true)) self->take_results_soon();
  });
  uint64_t echoed = 0;
  for (const Part& part : parts_) echoed += part.echo.size() * call_.request.choices;
  if (!exchange().hold(echoed)) return fail(replies_full());
  for (uint32_t choice = 0; choice < texts(); ++choice) {
    const std::string& echo = parts_[choice / call_.request.choices].echo;
    choices_.emplace_back(model_.backend.tokenizer(), choice, call_.request.logprobs,
                          call_.request.special_text);
    whole_.push_back({.index = choice, .text = echo});
  }
  submitted_seconds_ = steady_seconds();
  submit_prompts();
  if (call_.stream) begin_events();
}

// By the engine's thread, which nothing may be thrown on.
void Completion::take_results_soon() noexcept {
  try {
    on_reactor([this] {
      told_ = false;
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
    jobs_.push_back(model_.backend.submit(std::move(request), stream_));
    prompt_of_[jobs_.back().id()] = i;
    all_.metrics_.prompt_tokens.add(parts_[i].token_count);
  }
}

void Completion::begin_events() {
  streaming_ = true;
  exchange().begin_events();
  exchange().on_drained([weak = weak_from_this()] {
    auto self = std::static_pointer_cast<Completion>(weak.lock());
    if (self) self->go_on();
  });
  std::string events;
  for (const ChoicePart& part : whole_) {
    if (chat_) events += first_event(head_, part.index);
    if (!part.empty()) events += part_events(head_, part);
  }
  if (!events.empty()) exchange().send(std::move(events));
}

// The client has taken all that waited for it.
void Completion::go_on() {
  stalled_since_.reset();
  guarded([this] { take_results(); });
}

void Completion::take_results() {
  if (finishing_) return;
  std::string events;
  const size_t most = exchange().replies_full() ? kLeastUnsent : kMostUnsent;
  while (!ended() && (!streaming_ || exchange().unsent() + events.size() < most)) {
    std::optional<Result> result = stream_->try_pop();
    if (!result) break;
    if (result->finish && !finish_reason(*result->finish)) {
      if (result->error == kNoMemory) return exchange().fall_short();
      bool cancelled = *result->finish == Finish::kCancelled;
      if (!events.empty()) exchange().send(std::move(events));
      return fail({cancelled ? 503u : 500u, "", cancelled ? "cancelled" : "generation_failed",
                   cancelled ? "the server ended before this answer did" : result->error});
    }
    ChoicePart part = take(*result);
    if (!streaming_) {
      if (!exchange().hold(bytes_of(part))) return fail(replies_full());
      whole_[part.index].append(std::move(part));
    } else if (!part.empty()) {
      events += part_events(head_, part);
    }
  }
  if (!events.empty()) exchange().send(std::move(events));
  if (!ended() && finished_ == texts()) return finish();
  if (streaming_ && !stalled_since_ && exchange().unsent() >= most) {
    stalled_since_ = steady_seconds();
  }
}

double Completion::stalled_seconds() const {
  return stalled_since_ && !ended() ? steady_seconds() - *stalled_since_ : 0;
}

void Completion::give_way() {
  ApiError error{503, "", "client_too_slow",
                 "others want the place of this stream, which its client has let wait: read faster "
                 "or ask for less"};
  exchange().send(error_event(error));
  exchange().end();
  end(Outcome::kCancelled, kClientClosedRequest, error.code);
}

ChoicePart Completion::take(const Result& result) {
  uint32_t prompt = prompt_of_.at(result.request);
  ChoiceText& choice = choices_[prompt * call_.request.choices + result.choice];
  parts_[prompt].cached = result.cached_tokens;
  note_times(result);
  ChoicePart part = choice.take(result);
  if (!part.finish) return part;
  ++finished_;
  if (choice.tokens() > 1) {
    double seconds = result.computed_seconds - result.first_token_seconds;
    all_.metrics_.token_seconds.observe(seconds / (choice.tokens() - 1));
  }
  return part;
}

void Completion::note_times(const Result& result) {
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
  for (const ChoiceText& choice : choices_) usage.completion_tokens += choice.tokens();
  return usage;
}

void Completion::finish() {
  bool stopped = true;
  for (const ChoiceText& choice : choices_) {
    stopped &= finish_reason(*choice.finish()) == "stop";
  }
  Outcome outcome = stopped ? Outcome::kStop : Outcome::kLength;
  if (streaming_) {
    std::string events;
    if (call_.include_usage) events = usage_event(head_, usage());
    exchange().send(events + std::string(kDoneEvent));
    exchange().end();
    return end(outcome, 200, "");
  }
  // Log-probabilities may make it large: the worker makes it, and nobody else has the places before
  // it is handed over.
  finishing_ = true;
  on_worker([this, outcome] {
    reply_with(std::make_unique<CompletionBody>(head_, std::move(whole_), usage()), outcome);
  });
}

void Completion::tell(const ApiError& error) {
  if (!streaming_) return Answer::tell(error);
  exchange().send(error_event(error));
  exchange().end();
}

void Completion::let_go() noexcept {
  jobs_.clear();  // cancels what is left
  if (stream_) stream_->close();
  all_.give_back(*this);
}

void Completion::forget() noexcept {
  Answer::forget();
  jobs_.clear();
}

void Completion::note(LogEntry* entry) const {
  if (submitted_seconds_ > 0) {
    Usage sums = usage();
    entry->prompt_tokens = sums.prompt_tokens;
    entry->cached_tokens = sums.cached_tokens;
    entry->generated_tokens = sums.completion_tokens;
  }
  entry->queue_seconds = queue_seconds_;
  entry->first_token_seconds = first_token_seconds_;
}

}  // namespace hearth
