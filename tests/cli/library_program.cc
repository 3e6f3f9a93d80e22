// A program that uses the library, as any user may write one. It continues a text token by token,
// each the likeliest. The engine uses the results of `hearth tune`, as every engine does.
//
//   library_program MODEL PROMPT TOKENS
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "engine/logits.h"
#include "engine/open_model.h"

int main(int argc, char** argv) {
  using namespace hearth;
  if (argc != 4) return 2;
  try {
    Listener listener;
    listener.warn = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); };
    const OpenedModel model = open_model({.path = argv[1], .pre = {}}, listener);
    const Isa isa = choose_isa(detect_cpu_features(), std::getenv("HEARTH_ISA"));
    const std::unique_ptr<Engine> engine = start_engine(model, Machine::live(), isa, {}, listener);
    const std::unique_ptr<Sequence> sequence = engine->new_sequence();
    std::vector<int32_t> text, next = model.tokenizer->encode(argv[2]);
    for (int left = std::atoi(argv[3]); left > 0; --left) {
      engine->prefill(*sequence, next);
      next = {argmax(engine->logits(0))};
      text.push_back(next[0]);
    }
    std::puts(model.tokenizer->decode(text).c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
