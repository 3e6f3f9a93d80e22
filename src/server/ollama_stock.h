// Answers POST /api/pull and DELETE /api/delete of ollama's API, where the server's clients may
// change its models.
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

// OllamaPull: {"model": "ORG/REPO:QUANT", "stream": true} -> lines with the progress, the last of
// them {"status":"success"}; not streamed, only that one, at the end.
//
//   begin() -> read(), the worker -> wait_turn() -> pull(), the line's thread -> finish()
//
// If the client leaves, the pull stops and the data fetched is kept.
class OllamaPull final : public Answer {
 public:
  // The stock and the line outlive this.
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
  // The PullLine's thread calls these.
  void say(std::string line);
  PullListener listener();
  void finish();

  ModelStock& stock_;
  PullLine& line_;
  const uint32_t depth_;
  const PullLine::Stop stop_ = std::make_shared<std::atomic<bool>>(false);
  std::string name_;
  bool streams_ = true;
  double reported_seconds_ = 0;  // when progress was last sent, in steady seconds
};

// OllamaDelete: {"model": NAME} -> {"status":"success"} once the model's files are deleted. All of
// it runs on the worker.
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

// Reads the field `model`, or `name`, its older name. Throws RequestError.
std::string read_ollama_name(const boost::json::object& body);

}  // namespace hearth
