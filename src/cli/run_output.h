// Prints the results of `hearth run`: texts in the order of the prompts, which may be computed in
// another order, or JSON in the order of computing; and a summary.
#pragma once

#include <string>
#include <vector>

#include "cli/generate.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct RunOutputOptions {
  bool json = false;
  uint64_t seed = 0;
  uint32_t context = 0;
  // printed before each text; empty: nothing
  std::vector<std::string> echoes;
};

class RunOutput {
 public:
  // `texts` is the number of all continuations, `choices` that of each prompt.
  RunOutput(RunOutputOptions options, size_t texts, uint32_t choices);

  void add(const Continuation& completion, const Result& result);
  // Prints a summary of all continuations to standard error.
  void summarise(const std::vector<Continuation>& completions) const;

 private:
  struct Text {
    std::string unprinted;
    bool finished = false;
  };

  void print_in_order();
  void begin_text();
  void end_text();
  void print_token(const Continuation& completion, const Result& result) const;
  void print_end(const Continuation& completion) const;

  RunOutputOptions options_;
  uint32_t choices_;
  std::vector<Text> texts_;
  size_t current_ = 0;  // the text being printed
  bool begun_ = false;
  bool at_line_start_ = true;
};

}  // namespace hearth
