// hearth inspect: shows a model's metadata and tensors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes_text.h"
#include "base/json.h"
#include "base/number_list.h"
#include "base/printable.h"
#include "cli/describe.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "formats/model_source.h"
#include "models/registry.h"

namespace hearth {
namespace {

struct InspectArgs {
  std::string model;
  bool json = false, tensors = false;
};

// The most elements of an array that are shown.
constexpr uint64_t kShownElements = 6;
// The most bytes of a string in text output; chat templates are long.
constexpr size_t kShownValueBytes = 96;

std::string architectures_text() {
  std::string names;
  for (const Architecture& known : all_architectures()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return names;
}

std::string tokenizer_text(const ModelDescription& model) {
  if (model.tokenizer.empty()) return "none";
  std::string kind = printable(model.tokenizer);
  if (model.tokenizer == "gpt2") kind += ": byte-level BPE";
  if (model.tokenizer == "llama") kind += ": SentencePiece";
  if (model.tokenizer == "bert") kind += ": WordPiece";
  if (!model.pre.empty()) kind += fmt::format(", pre-tokenizer {}", printable(model.pre));
  return kind;
}

void add_line(std::string& out, std::string_view label, const std::string& value) {
  out += fmt::format("{:<14}{}\n", label, value);
}

void add_number(std::string& out, std::string_view label, const std::optional<uint64_t>& value) {
  if (value) add_line(out, label, fmt::format("{}", *value));
}

std::string summary_text(const ModelSource& file, const ModelDescription& model) {
  std::string out, parts;
  if (file.files().size() > 1) parts = fmt::format(" in {} parts", file.files().size());
  std::string format = file.format_name();
  if (file.format_version() != 0) format += fmt::format(" version {}", file.format_version());
  add_line(out, "file",
           fmt::format("{}, {}{}, {}", printable(file.name(), 4096), bytes_text(file.file_bytes()),
                       parts, format));
  if (!model.name.empty()) add_line(out, "name", printable(model.name));
  std::string architecture = model.architecture.empty() ? "none" : printable(model.architecture);
  if (!model.runs) {
    architecture += fmt::format(" (this version cannot run it; it runs {})", architectures_text());
  }
  if (model.encoder) {
    architecture +=
        fmt::format(" (an encoder: it {})",
                    model.reranker ? "scores pairs of texts" : "gives vectors and no text");
  }
  add_line(out, "architecture", architecture);
  add_line(out, "parameters",
           fmt::format("{} ({})", parameters_text(model.parameters), model.parameters));
  add_number(out, "context", model.context);
  add_number(out, "layers", model.layers);
  add_number(out, "width", model.width);
  add_number(out, "ffn", model.ffn);
  if (model.heads) {
    add_line(out, "heads",
             fmt::format("{}, {} of keys and values{}", *model.heads, *model.kv_heads,
                         model.head_dim ? fmt::format(", {} wide", *model.head_dim) : ""));
  }
  std::string label = "blocks";
  for (const LayerKind& kind : model.blocks) {
    add_line(out, std::exchange(label, ""), "layers " + number_list_text(kind.layers));
    for (const std::string& block : kind.blocks) add_line(out, "", "  " + block);
  }
  if (!model.pooling.empty()) add_line(out, "pooling", model.pooling);
  add_number(out, "vocabulary", model.vocabulary);
  add_line(out, "tokenizer", tokenizer_text(model));
  add_number(out, "template", model.template_bytes);
  for (const std::string& note : file.notes()) add_line(out, "note", note);
  for (const std::string& note : model.notes) add_line(out, "note", note);
  return out;
}

double bits_each(uint64_t bytes, uint64_t elements) {
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
}

std::string types_text(const ModelSource& file, const ModelDescription& model) {
  std::string out = fmt::format("\ntensors: {}\n", file.tensors().size());
  for (const TypeTotal& total : model.types) {
    std::string bytes = "unknown size";
    if (total.bytes > 0) {
      bytes = fmt::format("{}, {:.2f} bits a parameter", bytes_text(total.bytes),
                          bits_each(total.bytes, total.elements));
    }
    out += fmt::format("  {:<20} {:>5} tensors  {}\n", total.type, total.tensors, bytes);
  }
  return out;
}

std::string roles_text(const ModelDescription& model) {
  if (model.roles.empty()) return {};
  uint64_t bytes = 0, packed = 0;
  for (const RoleTotal& total : model.roles) {
    bytes += total.bytes;
    packed += total.packed;
  }
  std::string out = fmt::format("\nmatrices: {} in the file, {} in memory\n", bytes_text(bytes),
                                bytes_text(packed));
  for (const RoleTotal& total : model.roles) {
    out +=
        fmt::format("  {:<12} {:<10} {:>6} of {:>6.2f} bits, in memory {:>6.2f} ({})\n", total.role,
                    total.type, total.matrices, bits_each(total.bytes, total.elements),
                    bits_each(total.packed, total.elements), total.packed_as);
  }
  return out;
}

std::string metadata_text(const ModelSource& file) {
  std::string out = fmt::format("\nmetadata: {} keys\n", file.metadata().entries().size());
  for (const MetaEntry& entry : file.metadata().entries()) {
    out += fmt::format("  {} ({}) = {}\n", printable(entry.key), meta_value_type_text(entry.value),
                       meta_value_text(entry.value, kShownElements, kShownValueBytes));
  }
  return out;
}

std::string tensors_text(const ModelSource& file) {
  std::string out = "\n";
  for (const SourceTensor& tensor : file.tensors()) {
    std::string bytes = tensor.n_bytes() > 0 ? bytes_text(tensor.n_bytes()) : "unknown size";
    out += fmt::format("{:<32} {:<8} {:<20} {}\n", printable(tensor.name), tensor.type_text,
                       fmt::format("{}", fmt::join(tensor.dims, " x ")), bytes);
  }
  return out;
}

// Writes one element of `type`, which is not an array, and moves `at` behind it.
void json_element(Json& json, MetaType type, const std::byte*& at) {
  if (type == MetaType::kString) {
    auto length = load_number<uint64_t>(at);
    at += sizeof(length);
    json.text({reinterpret_cast<const char*>(at), length});
    at += length;
    return;
  }
  with_number(type, at, [&json](auto number) {
    using Number = decltype(number);
    if constexpr (std::is_same_v<Number, bool>) {
      json.boolean(number);
    } else if constexpr (std::is_floating_point_v<Number>) {
      json.real(number);
    } else if constexpr (std::is_signed_v<Number>) {
      json.integer(number);
    } else {
      json.number(number);
    }
  });
  at += meta_type_bytes(type);
}

void json_value(Json& json, const MetaValue& value) {
  const std::byte* at = value.payload.data();
  if (value.type == MetaType::kString) {
    json.text({reinterpret_cast<const char*>(at), value.payload.size()});
  } else if (!value.is_array()) {
    json_element(json, value.type, at);
  } else {
    json.object().key("array").text(meta_type_name(value.element_type));
    json.key("count").number(value.count).key("first").array();
    for (uint64_t i = 0; i < std::min(value.count, kShownElements); ++i) {
      json_element(json, value.element_type, at);
    }
    json.end_array().end_object();
  }
}

void json_text(Json& json, const char* key, const std::string& value) {
  json.key(key).text_or_null(value.empty() ? std::nullopt : std::optional(value));
}

void json_summary(Json& json, const ModelSource& file, const ModelDescription& model) {
  json.key("file").text(file.name()).key("file_bytes").number(file.file_bytes());
  json.key("parts").number(file.files().size());
  json.key("format").text(file.format_name());
  const uint64_t version = file.format_version();
  json.key("version").number(version != 0 ? std::optional(version) : std::nullopt);
  json.key("left_out").array();
  for (const std::string& note : file.notes()) json.text(note);
  for (const std::string& note : model.notes) json.text(note);
  json.end_array();
  json_text(json, "name", model.name);
  json_text(json, "architecture", model.architecture);
  json.key("runs").boolean(model.runs).key("encoder").boolean(model.encoder);
  json_text(json, "pooling", model.pooling);
  json.key("parameters").number(model.parameters);
  json.key("context").number(model.context).key("layers").number(model.layers);
  json.key("width").number(model.width).key("ffn").number(model.ffn);
  json.key("heads").number(model.heads).key("kv_heads").number(model.kv_heads);
  json.key("head_dim").number(model.head_dim).key("vocabulary").number(model.vocabulary);
  json.key("blocks").array();
  for (const LayerKind& kind : model.blocks) {
    json.object().key("layers").array();
    for (uint32_t layer : kind.layers) json.number(layer);
    json.end_array().key("blocks").array();
    for (const std::string& block : kind.blocks) json.text(block);
    json.end_array().end_object();
  }
  json.end_array();
  json_text(json, "tokenizer", model.tokenizer);
  json_text(json, "pre", model.pre);
  json.key("template_bytes").number(model.template_bytes).key("tensor_types").array();
  for (const TypeTotal& total : model.types) {
    json.object().key("type").text(total.type).key("tensors").number(total.tensors);
    json.key("elements").number(total.elements);
    json.key("bytes").number(total.bytes > 0 ? std::optional(total.bytes) : std::nullopt);
    json.end_object();
  }
  json.end_array().key("matrices").array();
  for (const RoleTotal& total : model.roles) {
    json.object().key("role").text(total.role).key("type").text(total.type);
    json.key("matrices").number(total.matrices).key("elements").number(total.elements);
    json.key("bytes").number(total.bytes).key("packed_as").text(total.packed_as);
    json.key("packed_bytes").number(total.packed).end_object();
  }
  json.end_array();
}

void json_tensors(Json& json, const ModelSource& file) {
  json.key("tensors").array();
  for (const SourceTensor& tensor : file.tensors()) {
    json.object().key("name").text(tensor.name);
    json.key("type").text(tensor.type_text).key("dims").array();
    for (uint64_t dim : tensor.dims) json.number(dim);
    json.end_array();
    const uint64_t bytes = tensor.n_bytes();
    json.key("bytes").number(bytes > 0 ? std::optional(bytes) : std::nullopt);
    const bool in_file = tensor.part != kNoPart;
    json.key("part").number(in_file ? std::optional<uint64_t>(tensor.part) : std::nullopt);
    json.key("offset").number(in_file ? std::optional(tensor.offset) : std::nullopt).end_object();
  }
  json.end_array();
}

int inspect(const InspectArgs& args) {
  ModelSource file = open_model_source(args.model, UnknownTypes::kKeep);
  ModelDescription model = describe_model(file);
  if (args.json) {
    Json json;
    json.object();
    json_summary(json, file, model);
    json.key("metadata").object();
    for (const MetaEntry& entry : file.metadata().entries()) {
      json.key(entry.key);
      json_value(json, entry.value);
    }
    json.end_object();
    if (args.tensors) json_tensors(json, file);
    write_stdout(json.end_object().line());
    return 0;
  }
  std::string out = summary_text(file, model) + types_text(file, model) + roles_text(model);
  out += metadata_text(file);
  if (args.tensors) out += tensors_text(file);
  write_stdout(out);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("inspect", "Show a model's metadata and tensors");
  auto args = std::make_shared<InspectArgs>();
  add_model(verb, &args->model);
  verb.add_flag("--tensors", args->tensors, "List every tensor");
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth inspect model.gguf\n"
               "  hearth inspect Qwen3-30B-A3B-FP8 --tensors\n"
               "  hearth inspect model.gguf --json | jq .metadata");
  verb.callback([args, &action] { action = [args] { return inspect(*args); }; });
}

}  // namespace hearth
