#include "cli/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/progress.h"
#include "cli/load.h"
#include "text/stop_strings.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// False where Ctrl-C came in between.
bool read_prompt(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                 Interrupts& interrupts) {
  Progress progress("prompt", prompt.size(),
                    [](uint64_t n) { return fmt::format("{} tokens", n); });
  for (size_t done = 0; done < prompt.size();) {
    if (interrupts.received()) return false;
    size_t count = std::min<size_t>(engine.options().prefill_rows, prompt.size() - done);
    bool last = done + count == prompt.size();
    StepRequest request{&sequence, prompt.subspan(done, count),
                        last ? Want::kLast : Want::kNothing};
    engine.step({&request, 1});
    done += count;
    progress.update(done);
  }
  return true;
}

// From tokens to the text that may be given out.
class TextOut {
 public:
  explicit TextOut(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  std::string push(std::string_view bytes) { return stops_.push(utf8_.push(bytes)); }
  std::string end() {
    std::string tail = stops_.push(utf8_.flush());
    return tail + stops_.flush();
  }
  bool stopped() const { return stops_.stopped(); }
  const std::string& stop() const { return stops_.matched(); }

 private:
  Utf8Stream utf8_;
  StopMatcher stops_;
};

}  // namespace

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::kEndOfText:
      return "end of text";
    case Finish::kLength:
      return "length";
    case Finish::kContext:
      return "context";
    case Finish::kStopString:
      return "stop string";
    case Finish::kInterrupted:
      break;
  }
  return "interrupted";
}

double Generation::prompt_rate(size_t prompt_tokens) const {
  return first_token_seconds > 0 ? static_cast<double>(prompt_tokens) / first_token_seconds : 0;
}

double Generation::rate() const {
  double seconds = total_seconds - first_token_seconds;
  return tokens > 1 && seconds > 0 ? (tokens - 1) / seconds : 0;
}

Generation generate(Engine& engine, const GgufFile& file, const Tokenizer& tokenizer,
                    Sampler& sampler, std::span<const int32_t> prompt,
                    const GenerateOptions& options, Interrupts& interrupts,
                    const TokenCallback& on_token) {
  HEARTH_CHECK(!prompt.empty(), "a prompt has tokens");
  auto start = std::chrono::steady_clock::now();
  Generation result;
  TextOut out(options.stops);
  auto sequence = engine.new_sequence();
  for (int32_t token : prompt) sampler.accept(token);
  if (!read_prompt(engine, *sequence, prompt, interrupts)) return result;

  // Rows that pad the embedding table have logits, but are no tokens.
  size_t vocabulary = std::min<size_t>(engine.config().vocabulary, tokenizer.size());
  for (;;) {
    std::optional<Finish> finish;
    std::span<const float> logits = engine.logits(0).first(vocabulary);
    check_logits(logits, file);
    GeneratedToken token{result.tokens++, sampler.sample(logits), {}, 0};
    if (options.logprobs) token.logprob = logits[token.id] - log_sum_exp(logits);
    sampler.accept(token.id);
    if (token.index == 0) result.first_token_seconds = seconds_since(start);

    bool end = tokenizer.is_eog(token.id);
    if (!end) token.text = out.push(tokenizer.token_bytes(token.id));
    if (end) {
      finish = Finish::kEndOfText;
    } else if (out.stopped()) {
      finish = Finish::kStopString;
    } else if (result.tokens == options.max_tokens) {
      finish = Finish::kLength;
    } else if (sequence->length() == engine.context()) {
      finish = Finish::kContext;
    } else if (interrupts.received()) {
      finish = Finish::kInterrupted;
    }
    if (finish) token.text += out.end();
    result.text += token.text;
    result.total_seconds = seconds_since(start);
    on_token(token);
    if (finish) {
      result.finish = *finish;
      result.stop = out.stop();
      break;
    }
    StepRequest request{sequence.get(), {&token.id, 1}, Want::kLast};
    engine.step({&request, 1});
  }
  return result;
}

}  // namespace hearth
