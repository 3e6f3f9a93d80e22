// hearth embed: turns texts into vectors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/tell.h"
#include "cli/embed_model.h"
#include "cli/embed_stream.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "embed/pooling.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxDimensions = 1u << 17;
// The exit status if a text was refused, the same as for an error.
constexpr int kRefusedStatus = 1;

struct EmbedArgs {
  EmbedModelArgs model;
  std::vector<std::string> texts;
  std::optional<std::string> file, field, id, out;
  std::string prefix;
  uint32_t dimensions = 0;  // 0: all
  bool truncate = false, quiet = false;
};

bool is_json_name(const std::string& path) {
  return path.ends_with(".jsonl") || path.ends_with(".ndjson");
}

std::unique_ptr<TextRows> open_rows(const EmbedArgs& args) {
  if (!args.texts.empty()) return std::make_unique<TextRows>(args.texts);
  std::string path = args.file.value_or("-");
  std::optional<JsonFields> fields;
  if (args.field || args.id) fields = JsonFields{args.field.value_or("text"), args.id};
  if (path == "-" && stdin_is_terminal()) {
    print_note("type one text a line, and end with Ctrl-D on an empty line");
  }
  if (!fields && is_json_name(path)) {
    print_note(fmt::format(
        "every line of '{}' is read as plain text; to read JSON objects, give --field text", path));
  }
  return std::make_unique<TextRows>(path, fields);
}

void print_totals(const StreamTotals& totals, const QueueManager& manager, bool verbose) {
  double rate = totals.seconds > 0 ? static_cast<double>(totals.tokens) / totals.seconds : 0;
  print_stderr(
      "hearth: {} vector{} of {} tokens in {:.2f} s, {:.1f} tokens/s{}{}\n", totals.texts,
      totals.texts == 1 ? "" : "s", totals.tokens, totals.seconds, rate,
      totals.without > 0 ? fmt::format("; texts without a vector: {}", totals.without) : "",
      totals.interrupted ? "; interrupted" : "");
  for (const DeviceStatistics& device : manager.statistics()) {
    if (!verbose) break;
    print_stderr("hearth: {}: {} texts in {} batches, {} late, {} failures, busy {:.2f} s\n",
                 device.name, device.done, device.batches, device.late, device.failures,
                 device.busy_seconds);
  }
}

StreamOptions stream_options(const EmbedArgs& args, const EmbedModel& model,
                             const EmbedSetup& setup) {
  StreamOptions stream;
  stream.prefix = args.prefix;
  stream.context = text_context(model, setup);
  stream.truncate = args.truncate;
  stream.texts = setup.texts;
  stream.normalise = model.options.normalise;
  if (args.dimensions != 0) stream.dimensions = args.dimensions;
  return stream;
}

// Writes the vectors; those computed before an error are kept.
StreamTotals stream_to(VectorOutput& output, const EmbedArgs& args, TextRows& rows,
                       const Tokenizer& tokenizer, QueueManager& manager,
                       const StreamOptions& options, const Interrupts& interrupts) {
  try {
    StreamTotals totals = stream_vectors(rows, tokenizer, manager, options, interrupts, output);
    output.end();
    return totals;
  } catch (const Error&) {
    if (args.out && output.rows() > 0) {
      output.end();
      print_note(fmt::format("'{}' has the {} rows that were finished before this error", *args.out,
                             output.rows()));
    }
    throw;
  }
}

int embed_texts(const EmbedArgs& args) {
  EmbedModel model = open_embed_model(args.model);
  uint32_t width = args.dimensions != 0 ? args.dimensions : model.width();
  check_dimensions(width, model.width());
  std::unique_ptr<TextRows> rows;
  std::unique_ptr<VectorOutput> output;
  if (!args.model.devices.list) {
    rows = open_rows(args);
    output = args.out ? npy_vector_output(*args.out, width) : json_vector_output();
  }
  Interrupts interrupts;
  Machine machine = Machine::live();
  SteadyClock clock;
  EmbedSetup setup = load_devices(args.model, model, machine, clock, &interrupts);
  if (args.model.devices.list) {
    write_stdout(device_table(setup.reports));
    return 0;
  }
  require_queue(setup);
  leave_to_pools(machine, setup);
  StreamOptions options = stream_options(args, model, setup);
  QueueManager manager(std::move(setup.queues), dispatch_options(args.model.devices), clock,
                       model.query("hearth"));
  StreamTotals totals =
      stream_to(*output, args, *rows, *model.model.tokenizer, manager, options, interrupts);
  if (totals.cut > 0) {
    print_note(fmt::format("{} of {} texts had more than {} tokens and {} cut", totals.cut,
                           totals.texts, options.context, totals.cut == 1 ? "was" : "were"));
  }
  if (!args.quiet) print_totals(totals, manager, args.model.engine.verbose);
  if (args.quiet && totals.without > 0) {
    print_note(fmt::format("texts without a vector: {}", totals.without));
  }
  if (totals.interrupted) return kInterruptedStatus;
  return totals.without > 0 ? kRefusedStatus : 0;
}

void add_input_options(CLI::App& verb, EmbedArgs* args) {
  CLI::Option* text =
      verb.add_option("-p,--prompt", args->texts, "A text; may be given several times");
  text->allow_extra_args(false)->type_name("TEXT");
  add_text(verb, "FILE", &args->file, "FILE",
           "A file with one text a line; default, or -: standard input")
      ->excludes(text);
  add_text(verb, "--field", &args->field, "NAME",
           "Read every line as a JSON object with the text in field NAME")
      ->excludes(text);
  add_text(verb, "--id", &args->id, "NAME",
           "Copy field NAME, a string or a whole number, from each JSON object to its vector; "
           "without --field the text is in `text`")
      ->excludes(text);
  verb.add_option("--prefix", args->prefix,
                  "Prefix of every text, where the model wants one: 'query: ', 'search_document: '")
      ->type_name("TEXT");
  verb.add_flag(
      "--truncate", args->truncate,
      "Cut texts that are longer than the context, and count them, instead of refusing them");
}

void add_vector_options(CLI::App& verb, EmbedArgs* args) {
  verb.add_option_function<std::string>(
          "-o,--output", [args](const std::string& path) { args->out = path; },
          "Save float32 [texts, dimensions] for NumPy instead of printing JSON lines")
      ->type_name("FILE.npy")
      ->check(CLI::Validator(
          [](std::string& path) {
            return std::string(path.ends_with(".npy") ? "" : "the file's name must end with .npy");
          },
          ""));
  add_count(verb, "--dimensions", &args->dimensions, 1, kMaxDimensions,
            "Keep only the first N dimensions (for Matryoshka models) and normalise again");
}

}  // namespace

void add_embed(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("embed", "Turn texts into embeddings (vectors)");
  auto args = std::make_shared<EmbedArgs>();
  add_model(verb, &args->model.model);
  add_input_options(verb, args.get());
  add_vector_options(verb, args.get());
  add_embed_model_options(verb, &args->model);
  verb.add_flag("-q,--quiet", args->quiet, "No summary on standard error");
  add_examples(verb,
               "  hearth embed bge-small.gguf -p 'A cat' -p 'A dog'\n"
               "  hearth embed bge-small.gguf lines.txt -o vectors.npy\n"
               "  hearth embed e5.gguf questions.txt --prefix 'query: '\n"
               "  hearth embed nomic.gguf docs.jsonl --field body --id key --truncate\n"
               "  hearth embed qwen3-embedding.gguf -p 'A cat' --dimensions 256\n"
               "  cat lines.txt | hearth embed bge-small.gguf | jq -c .embedding\n"
               "  hearth embed bge.gguf lines.txt --offload --slo 1s --device cpu \\\n"
               "    --device http://gpu:8080/v1,model=bge");
  verb.callback([args, &action] { action = [args] { return embed_texts(*args); }; });
}

}  // namespace hearth
