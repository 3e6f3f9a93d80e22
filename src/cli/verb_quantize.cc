// hearth quantize: writes a model with weights of another type, as a GGUF file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/atomic_file.h"
#include "base/bytes_text.h"
#include "base/tell.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "models/write_quantized.h"
#include "tensor/quantize_row.h"
#include "tokenizer/file_vocabulary.h"
#include "topology/placement.h"

namespace hearth {
namespace {

struct QuantizeFileArgs {
  std::string model, out, weights;
  std::optional<std::string> importance;
  uint32_t threads = 0;
  bool verbose = false;
};

int quantize(const QuantizeFileArgs& args) {
  WeightPolicy policy = weight_policy_of(args.weights, args.importance);
  policy.decode = true;
  const OpenedModel model =
      open_named_model(args.model, {}, args.verbose, TokenizerUse::kNone, ModelUse::kAny, policy);
  const FileVocabulary vocabulary =
      is_gguf(model.source) ? FileVocabulary() : file_vocabulary(model.source);
  for (const std::string& note : vocabulary.notes) print_note(note);
  AtomicFile file(args.out);
  const uint32_t threads = args.threads != 0 ? args.threads : default_thread_count(Machine::live());
  Team team(threads);
  uint64_t written = 0;
  Progress progress("quantizing", model.source.file_bytes(), bytes_text);
  auto write = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    written += bytes.size();
  };
  write_quantized(model.source, model.spec, vocabulary.keys, team, write,
                  [&](uint64_t done, uint64_t) { progress.update(done); });
  model.source.require_whole();
  if (policy.importance) policy.importance->require_whole();
  file.commit();
  progress.finish();
  print_stderr("hearth: wrote {} of {}, from {}\n", args.out, bytes_text(written),
               bytes_text(model.source.file_bytes()));
  return 0;
}

}  // namespace

void add_quantize(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("quantize", "Quantise a model's float weights to GGUF");
  auto args = std::make_shared<QuantizeFileArgs>();
  add_model(verb, &args->model);
  verb.add_option("OUT", args->out, "The file to write; it appears once it is complete")
      ->required()
      ->type_name("FILE");
  std::vector<std::string> types;
  for (const DType type : quantized_dtypes()) types.emplace_back(dtype_info(type).name);
  add_choice(verb, "--weights", &args->weights, types, "Type to quantise float weights to")
      ->required();
  add_importance(verb, &args->importance);
  add_count(verb, "-t,--threads", &args->threads, 1, 1024,
            "Threads; the file does not depend on them; default: one per core that may be used");
  verb.add_flag("-v,--verbose", args->verbose, "Show how many tensors are written in each type");
  add_examples(verb,
               "  hearth quantize model-bf16.gguf model-q4_k.gguf --weights q4_k\n"
               "  hearth quantize Qwen3-8B qwen3-8b-q8_0.gguf --weights q8_0 -t 8\n"
               "  hearth quantize model-bf16.gguf model-q4_k.gguf --weights q4_k --importance "
               "imatrix.gguf");
  verb.callback([args, &action] { action = [args] { return quantize(*args); }; });
}

}  // namespace hearth
