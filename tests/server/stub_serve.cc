// stub_serve [PORT [worker
// hold
// turns
// agents]]: the server with an engine that computes nothing. Tokens come as soon as there is room
// for them. So it shows the HTTP side alone, and its reaction to a failing engine: the prompts
// "throw", "no memory", "busy", "refuse" and "fail" act as named, and "absurd" gives a token that
// does not exist. With `worker`, calls that the server's worker makes throw. With `hold` the model
// is loading until standard input has a line or ends. With `turns` its chats reason and call tools,
// as scripted (scripted_turn.h). With `agents` they do too, and a chat without a script is answered
// by a word; the model's name is `local`, cached tokens are counted (stub_cache.h), and the log is
// JSON.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <deque>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "cli/termination.h"
#include "engine/open_model.h"
#include "scripted_turn.h"
#include "server/app.h"
#include "server/sampling_defaults.h"
#include "stub_cache.h"

namespace hearth {
namespace {

class StubBackend : public Backend {
 public:
  StubBackend(const Tokenizer& tokenizer, std::string_view how)
      : tokenizer_(tokenizer),
        throws_(how == "worker"),
        agents_(how == "agents"),
        token_(tokenizer.encode(" the", {.add_bos = false}).at(0)) {
    thread_ = std::thread([this] { work(); });
  }
  ~StubBackend() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  const Tokenizer& tokenizer() const override { return tokenizer_; }
  uint32_t context() const override {
    if (throws_) throw std::runtime_error("the stub was told to throw");
    return 1u << 20;
  }
  const Statistics& statistics() const override { return statistics_; }

  JobHandle submit(Request request, std::shared_ptr<ResultStream> stream) override {
    std::string prompt = tokenizer_.decode(request.prompt);
    if (prompt == "throw") throw std::runtime_error("the stub was told to throw");
    if (prompt == "no memory") throw std::bad_alloc();
    if (prompt == "busy") fail(ErrorCode::kBusy, "the stub was told to be busy");
    if (prompt == "refuse") fail_field(ErrorCode::kRequest, "prompt", "was told to be refused");
    stream->set_on_room([this] { poke(); });
    std::lock_guard lock(mutex_);
    auto text = std::make_shared<Text>();
    text->id = ++last_id_;
    text->fails = prompt == "fail";
    text->absurd = prompt == "absurd";
    text->turn = ScriptedTurn::of(tokenizer_, tokenizer_.decode(request.prompt, true), request);
    if (agents_) {
      text->cached = cache_.find(request.prompt);
      if (!text->turn) text->turn = std::make_unique<ScriptedTurn>(tokenizer_, "Well.", request);
    }
    text->request = std::move(request);
    text->stream = std::move(stream);
    texts_.push_back(text);
    poked_ = true;
    changed_.notify_one();
    return {text->id, [text] { text->cancelled = true; }};
  }

 private:
  struct Text {
    uint64_t id = 0;
    Request request;
    std::shared_ptr<ResultStream> stream;
    bool fails = false, absurd = false;
    std::unique_ptr<ScriptedTurn> turn;  // null: the same word comes again and again
    bool over = false;
    uint32_t generated = 0, cached = 0;
    std::atomic<bool> cancelled{false};
  };

  void poke() {
    {
      std::lock_guard lock(mutex_);
      poked_ = true;
    }
    changed_.notify_one();
  }

  // Runs steps. Each gives a token to every text that has room for one.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || poked_ || !texts_.empty(); });
      if (stopping_) return;
      poked_ = false;
      std::deque<std::shared_ptr<Text>> texts = texts_;
      lock.unlock();
      bool any = false;
      for (const auto& text : texts) any |= step(*text);
      lock.lock();
      for (const auto& text : texts) {
        if (agents_ && text->over) cache_.keep(text->request.prompt);
      }
      std::erase_if(texts_, [](const auto& text) { return text->cancelled || text->over; });
      if (!any) changed_.wait(lock, [&] { return stopping_ || poked_; });
    }
  }

  bool step(Text& text) {
    uint32_t choices = text.request.choices;
    if (text.cancelled || !text.stream->reserve(choices)) return false;
    double now = steady_seconds();
    ++text.generated;
    Result result = text.turn ? text.turn->next() : same_word(text);
    result.request = text.id;
    result.cached_tokens = text.cached;
    if (result.has_token()) text.request.prompt.push_back(result.token);
    result.admitted_seconds = result.first_token_seconds = result.computed_seconds = now;
    text.over = result.finish.has_value();
    for (uint32_t choice = 0; choice < choices; ++choice) {
      result.choice = choice;
      text.stream->push_reserved(result);
    }
    text.stream->notify_results();
    return true;
  }

  Result same_word(const Text& text) const {
    Result result;
    result.index = text.generated - 1;
    result.token = text.absurd ? 1 << 30 : token_;
    result.text = " the";
    if (text.generated == text.request.max_tokens) {
      result.finish = text.fails ? Finish::kFailed : Finish::kLength;
      if (text.fails) result.error = "the stub was told to fail";
    }
    return result;
  }

  const Tokenizer& tokenizer_;
  const bool throws_, agents_;
  const int32_t token_;
  StubCache cache_;
  Statistics statistics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, poked_ = false;
  uint64_t last_id_ = 0;
  std::deque<std::shared_ptr<Text>> texts_;
  std::thread thread_;
};

int serve(uint16_t port, std::string_view how) {
  std::signal(SIGPIPE, SIG_IGN);
  OpenedModel model = open_model({.path = find_demo_model().string(), .pre = {}});
  const bool agents = how == "agents", turns = agents || how == "turns";
  std::optional<std::string> chat_template;
  if (turns) chat_template = kScriptTemplate;
  ChatPrompt chat(model.source, *model.tokenizer, chat_template);
  AppOptions options;
  options.http.port = port;
  options.log = agents ? RequestLog::Form::kJson : RequestLog::Form::kNone;
  options.completions.max_running = options.completions.max_queue = 4096;
  App app(options);
  std::thread reactor([&] { app.run(); });
  fmt::print(stderr, "hearth: listening at http://127.0.0.1:{}/\n", app.port());
  if (how == "hold") std::getchar();
  StubBackend backend(*model.tokenizer, how);
  ServedModel served{agents ? "local" : "stub", 0, "fp_stub", [](Json&) {}, backend, chat,
                     openai_sampling()};
  if (turns) served.turns = &find_known_format("hermes")->format;
  Termination termination;
  app.serve({.text = &served});
  fmt::print(stderr, "hearth: serving {} at http://127.0.0.1:{}/\n", served.name, app.port());
  termination.wait();
  app.drain();
  reactor.join();
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  return hearth::serve(static_cast<uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0),
                       argc > 2 ? argv[2] : "");
}
