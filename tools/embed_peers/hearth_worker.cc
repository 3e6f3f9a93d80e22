// Runs Hearth over a GGUF file of an encoder, or of a decoder that embeds. Lines of input say what
// to measure; workers.py has their format.
//
//   hearth_embed_worker MODEL.gguf --threads N [--tokens N] [-v]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/text_io.h"
#include "embed/embedder.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxTokens = 1u << 16;
// The most texts in a step.
constexpr uint32_t kStepTexts = 128;

struct WorkerArgs {
  std::string model;
  EngineArgs engine;
  uint32_t tokens = kEmbedStepTokens;
};

// A line from the driver.
struct Task {
  uint32_t batch = 0, repeat = 0;
  std::string texts, vectors;  // paths of files; empty `vectors`: vectors are not written
};

uint32_t parse_count(const std::string& word) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value == 0) {
    fail(ErrorCode::kUsage, "'{}' is no number from 1 on", word);
  }
  return value;
}

Task parse_task(const std::string& line) {
  std::vector<std::string> fields = CLI::detail::split(line, '\t');
  if (fields.size() != 3 && fields.size() != 4) {
    fail(ErrorCode::kUsage, "a task has 3 or 4 fields, not {}", fields.size());
  }
  fields.resize(4);
  return {parse_count(fields[0]), parse_count(fields[1]), fields[2], fields[3]};
}

std::vector<std::vector<int32_t>> read_texts(const std::string& path) {
  std::vector<std::vector<int32_t>> texts;
  for (const std::string& line : CLI::detail::split(without_last_newline(read_text(path)), '\n')) {
    std::vector<int32_t>& text = texts.emplace_back();
    for (const std::string& word : CLI::detail::split(line, ' ')) {
      int32_t token = 0;
      std::from_chars(word.data(), word.data() + word.size(), token);
      text.push_back(token);
    }
  }
  return texts;
}

class Worker {
 public:
  explicit Worker(const WorkerArgs& args)
      : model_(
            open_named_model(args.model, std::nullopt, args.engine.verbose, TokenizerUse::kNone)),
        pooling_(settle_pooling(model_.spec, std::nullopt)),
        engine_(load_engine(model_, args.engine, engine_options(args))),
        embedder_(*engine_, {pooling_, true}) {}

  std::string description() const {
    return fmt::format("Hearth ({} kernels), {} threads", isa_name(engine_->isa()),
                       engine_->threads());
  }
  // Returns the seconds of each repetition, separated by spaces.
  std::string measure(const Task& task);

 private:
  using Texts = std::span<const EmbedText>;

  EngineOptions engine_options(const WorkerArgs& args) const {
    EngineOptions options;
    options.prefill_rows = args.tokens;
    options.items = kStepTexts;
    return embed_engine_options(model_.spec, pooling_, options);
  }
  std::vector<std::vector<float>> embed(Texts texts, size_t batch);

  OpenedModel model_;
  PoolingType pooling_;
  std::unique_ptr<Engine> engine_;
  Embedder embedder_;
};

std::vector<std::vector<float>> Worker::embed(Texts texts, size_t batch) {
  std::vector<std::vector<float>> vectors;
  for (; !texts.empty(); texts = texts.subspan(std::min(batch, texts.size()))) {
    for (std::vector<float>& vector : embedder_.run(texts.first(std::min(batch, texts.size())))) {
      vectors.push_back(std::move(vector));
    }
  }
  return vectors;
}

std::string Worker::measure(const Task& task) {
  std::vector<std::vector<int32_t>> texts = read_texts(task.texts);
  std::vector<EmbedText> spans;
  for (const std::vector<int32_t>& text : texts) spans.push_back({text});
  std::vector<std::vector<float>> vectors;
  std::string reply;
  for (uint32_t i = 0; i < task.repeat; ++i) {
    double start = steady_seconds();
    vectors = embed(spans, task.batch);
    reply += fmt::format("{}{:.9f}", i == 0 ? "" : " ", steady_seconds() - start);
  }
  if (!task.vectors.empty()) {
    AtomicFile file(task.vectors);
    for (const std::vector<float>& vector : vectors) file.write(std::as_bytes(std::span(vector)));
    file.commit();
  }
  return reply;
}

void serve_lines(Worker& worker) {
  write_stdout(fmt::format("ready: {}\n", worker.description()));
  for (std::string line; std::getline(std::cin, line);) {
    try {
      write_stdout(worker.measure(parse_task(line)) + "\n");
    } catch (const Error& error) {
      write_stdout(fmt::format("error: {}\n", error.what()));
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app("Makes vectors of texts that lines on standard input name, and tells the time.");
  WorkerArgs args;
  add_model(app, &args.model);
  add_threads(app, &args.engine.plan);
  add_count(app, "--tokens", &args.tokens, 1, kMaxTokens, "Tokens of a step");
  app.add_flag("-v,--verbose", args.engine.verbose, "Tell what was loaded");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Worker worker(args);
  serve_lines(worker);
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    return hearth::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print("error: {}\n", error.what());
    return 1;
  }
}
