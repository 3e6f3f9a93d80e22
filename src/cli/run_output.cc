#include "cli/run_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/tell.h"
#include "base/utf8_stream.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

// Returns the name of a finish reason; a cancelled request is "interrupted" for a user at the
// terminal.
const char* end_name(Finish finish) {
  return finish == Finish::kCancelled ? "interrupted" : finish_name(finish);
}

std::string end_text(const Continuation& completion, uint32_t context) {
  if (completion.finish == Finish::kContext) {
    return fmt::format("the context of {} is full: raise --ctx for more", context);
  }
  if (completion.finish == Finish::kLength) return fmt::format("-n {} reached", completion.tokens);
  return end_name(*completion.finish);
}

void summarise_one(const Continuation& c, const RunOutputOptions& options) {
  std::string prompt_speed, speed;
  if (c.tokens > 0) {
    prompt_speed = fmt::format(", {:.1f} tokens/s, first token after {:.3f} s", c.prompt_rate(),
                               c.first_token_seconds);
  }
  if (c.rate() > 0) speed = fmt::format(", {:.1f} tokens/s", c.rate());
  print_stderr("hearth: prompt {} tokens{}\nhearth: generated {} tokens{}; {}; seed {}\n",
               c.prompt_tokens, prompt_speed, c.tokens, speed, end_text(c, options.context),
               options.seed);
}

}  // namespace

RunOutput::RunOutput(RunOutputOptions options, size_t texts, uint32_t choices)
    : options_(std::move(options)), choices_(choices), texts_(texts) {}

void RunOutput::add(const Continuation& completion, const Result& result) {
  if (options_.json) {
    if (result.has_token() || !result.text.empty()) print_token(completion, result);
    if (result.finish) print_end(completion);
    return;
  }
  Text& text = texts_[completion.prompt * choices_ + completion.choice];
  text.unprinted += result.text;
  text.finished = result.finish.has_value();
  print_in_order();
}

void RunOutput::print_in_order() {
  for (; current_ < texts_.size(); ++current_, begun_ = false) {
    Text& text = texts_[current_];
    if (text.unprinted.empty() && !text.finished) return;
    begin_text();
    if (!text.unprinted.empty()) {
      write_stdout(text.unprinted);
      at_line_start_ = text.unprinted.back() == '\n';
      text.unprinted.clear();
    }
    if (!text.finished) return;
    end_text();
  }
}

// Begins a text. If there are several, prints a heading line, as head and tail do for several
// files.
void RunOutput::begin_text() {
  if (begun_) return;
  begun_ = true;
  at_line_start_ = true;
  size_t prompt = current_ / choices_;
  if (texts_.size() > 1) {
    std::string repeat = choices_ > 1 ? fmt::format(", text {}", current_ % choices_ + 1) : "";
    write_stdout(
        fmt::format("{}==> prompt {}{} <==\n", current_ > 0 ? "\n" : "", prompt + 1, repeat));
  }
  if (options_.echoes.empty()) return;
  Utf8Stream echo;
  write_stdout(echo.push(options_.echoes[prompt]));
  write_stdout(echo.flush());
}

void RunOutput::end_text() {
  bool ends_line = texts_.size() > 1 && !at_line_start_;
  if (ends_line || (texts_.size() == 1 && stdout_is_terminal())) write_stdout("\n");
}

void RunOutput::print_token(const Continuation& completion, const Result& result) const {
  Json json;
  json.object().key("prompt").number(completion.prompt).key("choice").number(completion.choice);
  json.key("index").number(result.index).key("id");
  result.has_token() ? json.integer(result.token) : json.null();
  json.key("text").text(result.text).key("logprob");
  result.has_token() ? json.real(result.logprob) : json.null();
  write_stdout(json.end_object().line());
}

void RunOutput::print_end(const Continuation& c) const {
  Json json;
  json.object().key("summary").object();
  json.key("prompt").number(c.prompt).key("choice").number(c.choice);
  json.key("finish").text(end_name(*c.finish));
  json.key("stop").text_or_null(c.finish == Finish::kStopString ? std::optional(c.stop)
                                                                : std::nullopt);
  json.key("text").text(c.text).key("prompt_tokens").number(c.prompt_tokens);
  json.key("cached_tokens").number(c.cached_tokens);
  json.key("tokens").number(c.tokens).key("context").number(options_.context);
  json.key("seed").number(options_.seed + c.choice);
  json.key("first_token_seconds").real(c.first_token_seconds);
  json.key("total_seconds").real(c.total_seconds);
  json.key("prompt_tokens_per_second").real(c.prompt_rate());
  json.key("tokens_per_second").real(c.rate());
  write_stdout(json.end_object().end_object().line());
}

void RunOutput::summarise(const std::vector<Continuation>& completions) const {
  if (completions.size() == 1) return summarise_one(completions[0], options_);
  size_t prompt_tokens = 0, cached = 0, tokens = 0;
  double first = 0, total = 0;
  for (const Continuation& c : completions) {
    if (c.choice == 0) prompt_tokens += c.prompt_tokens, cached += c.cached_tokens;
    tokens += c.tokens;
    first = std::max(first, c.first_token_seconds);
    total = std::max(total, c.total_seconds);
  }
  print_stderr("hearth: {} prompts, {} tokens ({} shared), prefilled in {:.3f} s\n",
               completions.size() / choices_, prompt_tokens, cached, first);
  print_stderr("hearth: generated {} tokens in {} texts in {:.3f} s, {:.1f} tokens/s; seed {}\n",
               tokens, completions.size(), total,
               total > 0 ? static_cast<double>(tokens) / total : 0, options_.seed);
}

}  // namespace hearth
