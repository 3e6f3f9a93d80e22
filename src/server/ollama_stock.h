// POST /api/pull and DELETE /api/delete of ollama's API, of a server whose clients may do that.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/answer.h"
#include "server/model_stock.h"
#include "server/pull_line.h"

namespace hearth {

struct PullListener;

// {"model": "ORG/REPO:QUANT", "stream": true}: lines that tell how far it is, the last one
// {"status":"success"}; not streamed, that one alone, at the end.
//
//   begin() -> read(), the worker -> wait_turn() -> pull(), the line's thread -> finish()
//
// Where the client leaves, the pull ends, and keeps what came.
class OllamaPull final : public Answer {
 public:
  // The stock and the line outlive it.
  OllamaPull(Answers& answers, std::shared_ptr<Exchange> exchange, ModelStock& stock,
             PullLine& line, uint32_t depth)
      : Answer(answers, std::move(exchange), nullptr), stock_(stock), line_(line), depth_(depth) {}

 private:
  void begin() override;
  void let_go() noexcept override { line_.leave(stop_); }
  void forget() noexcept override;
  void read();
  void wait_turn();
  void pull() noexcept;
  // The line's thread calls the following.
  void say(std::string line);
  PullListener listener();
  void finish();

  ModelStock& stock_;
  PullLine& line_;
  const uint32_t depth_;
  const PullLine::Stop stop_ = std::make_shared<std::atomic<bool>>(false);
  std::string name_;
  bool streams_ = true;
  double told_seconds_ = 0;  // when progress was told last, by the clock
};

// {"model": NAME}: {"status":"success"} once it is gone from the disk. All of it is the worker's.
class OllamaDelete final : public Answer {
 public:
  OllamaDelete(Answers& answers, std::shared_ptr<Exchange> exchange, ModelStock& stock,
               uint32_t depth)
      : Answer(answers, std::move(exchange), nullptr), stock_(stock), depth_(depth) {}

 private:
  void begin() override;

  ModelStock& stock_;
  const uint32_t depth_;
};

// "model", or "name" as it was called first. Throws RequestError.
std::string read_ollama_name(const boost::json::object& body);

}  // namespace hearth
