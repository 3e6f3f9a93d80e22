// The load on a server: the moments of requests, their lengths, and their contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct RequestShape {
  uint32_t prompt = 1, output = 1;  // tokens
  bool operator==(const RequestShape&) const = default;
};

inline constexpr uint32_t kMaxShapeTokens = 1u << 20;

// Reads lines of "PROMPT_TOKENS,OUTPUT_TOKENS" (CSV; a first line that begins with a letter is a
// head, empty lines are skipped). Errors (kFile): name, line and what is wrong with it.
std::vector<RequestShape> read_shapes(std::string_view csv, const std::string& name);

// Pseudo-random numbers that are the same on every machine (splitmix64).
class LoadRandom {
 public:
  explicit LoadRandom(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Returns a number in [0, 1).
  double real();
  // Returns a number in [0, limit).
  uint32_t below(uint32_t limit);

 private:
  uint64_t state_;
};

// The moments of a Poisson process. Gaps are independent and exponential, with `rate` arrivals a
// second on average.
class PoissonArrivals {
 public:
  PoissonArrivals(double rate, uint64_t seed) : random_(seed), rate_(rate) {}
  // Returns the next moment, in seconds from the start.
  double next();

 private:
  LoadRandom random_;
  double rate_, last_ = 0;
};

// Returns `count` English words separated by blanks. The same seed gives the same words.
std::string random_words(uint32_t count, uint64_t seed);

// The form of the requests to a server.
struct ServeCall {
  bool chat = false;  // /v1/chat/completions, and prompts as text
  bool text = false;  // prompts as text and not as token ids
  std::string model;
  uint32_t shared_prefix = 0;              // tokens that all prompts begin with
  uint32_t first_id = 300, last_id = 999;  // range of the ids that prompts are made of

  std::string_view path() const { return chat ? "/v1/chat/completions" : "/v1/completions"; }
};

// Makes bodies of requests with unique prompts: apart from the shared prefix, no two begin alike.
// Another `salt` gives other prompts, so that no prefix cache helps a later run either. In text, a
// token is an English word, which is a token or two for most models.
class RequestMaker {
 public:
  RequestMaker(ServeCall call, uint64_t salt) : call_(std::move(call)), salt_(salt) {}

  const ServeCall& call() const { return call_; }
  // Returns the JSON of the next request: streaming, greedy, and with no end before `shape.output`
  // tokens.
  std::string next(const RequestShape& shape);

 private:
  std::vector<uint32_t> prompt(uint32_t tokens, uint32_t first, uint32_t last);

  ServeCall call_;
  uint64_t salt_;
  uint64_t made_ = 0;
};

}  // namespace hearth
