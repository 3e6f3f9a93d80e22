#include "store/repo_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/ascii.h"
#include "base/bytes_text.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

// Names of quantisations from most bits to fewest. Quantisations before Q4_K_M are only taken if
// the user names them.
constexpr std::array<std::string_view, 42> kQuants = {
    "F32",    "BF16",    "F16",     "Q8_K_XL", "Q8_0",    "Q6_K_XL", "Q6_K",   "Q5_K_XL", "Q5_K_L",
    "Q5_K_M", "Q5_K_S",  "Q5_1",    "Q5_0",    "Q4_1",    "Q4_K_XL", "Q4_K_L", "Q4_K_M",  "Q4_K_S",
    "Q4_0",   "IQ4_NL",  "MXFP4",   "IQ4_XS",  "Q3_K_XL", "Q3_K_L",  "Q3_K_M", "IQ3_M",   "IQ3_S",
    "Q3_K_S", "IQ3_XS",  "IQ3_XXS", "Q2_K_XL", "Q2_K_L",  "Q2_K",    "Q2_K_S", "IQ2_M",   "IQ2_S",
    "IQ2_XS", "IQ2_XXS", "TQ2_0",   "TQ1_0",   "IQ1_M",   "IQ1_S"};
constexpr std::string_view kUsual = "Q4_K_M";

size_t rank_of(std::string_view label) {
  if (label.starts_with("UD-")) label.remove_prefix(3);
  return std::ranges::find(kQuants, label) - kQuants.begin();
}

std::string_view name_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

constexpr std::string_view kEnding = ".gguf";

bool ends_as_gguf(std::string_view path) { return ascii_lower(path).ends_with(kEnding); }

std::string_view without_ending(std::string_view path) {
  return ends_as_gguf(path) ? path.substr(0, path.size() - kEnding.size()) : path;
}

// Splits a stem into its name, the part's number and the number of parts.
GgufName part_of(std::string_view stem) {
  constexpr size_t kLength = std::string_view("-00001-of-00003").size();
  if (stem.size() <= kLength) return {stem};
  const std::string_view end = stem.substr(stem.size() - kLength);
  const bool part = end[0] == '-' && is_number(end.substr(1, 5)) && end.substr(6, 4) == "-of-" &&
                    is_number(end.substr(10));
  if (!part) return {stem};
  stem.remove_suffix(kLength);
  return {stem, std::stoull(std::string(end.substr(1, 5))),
          std::stoull(std::string(end.substr(10)))};
}

// Whether a file is one of the small files that belong to a folder of safetensors files
// (docs/safetensors.md).
bool is_document(std::string_view path) {
  constexpr std::array<std::string_view, 18> kDocuments = {"config.json",
                                                           "generation_config.json",
                                                           "tokenizer.json",
                                                           "tokenizer_config.json",
                                                           "tokenizer.model",
                                                           "special_tokens_map.json",
                                                           "added_tokens.json",
                                                           "vocab.json",
                                                           "merges.txt",
                                                           "vocab.txt",
                                                           "chat_template.jinja",
                                                           "chat_template.json",
                                                           "model.safetensors.index.json",
                                                           "quantize_config.json",
                                                           "modules.json",
                                                           "sentence_bert_config.json",
                                                           "1_Pooling/config.json",
                                                           "hf_quant_config.json"};
  return std::ranges::find(kDocuments, path) != kDocuments.end() || path.ends_with(".tiktoken") ||
         (path.starts_with("1_") && path.ends_with("/config.json"));
}

bool is_shard(std::string_view path) {
  return path.find('/') == std::string_view::npos && path.starts_with("model") &&
         path.ends_with(".safetensors");
}

void sum_up(RepoModel* model) {
  for (const RepoFile& file : model->files) model->bytes += file.size;
}

void add_folder(std::span<const RepoFile> files, std::vector<RepoModel>* models) {
  RepoModel folder{.label = "safetensors", .files = {}, .folder = true};
  uint64_t shards = 0, parts = 0;
  const RepoFile* config = nullptr;
  for (const RepoFile& file : files) {
    if (file.path == "config.json") {
      config = &file;
    } else if (is_shard(file.path)) {
      std::string_view stem = file.path;
      stem.remove_suffix(std::string_view(".safetensors").size());
      parts = part_of(stem).parts;
      ++shards;
      folder.files.push_back(file);
    } else if (is_document(file.path)) {
      folder.files.push_back(file);
    }
  }
  if (config == nullptr || shards == 0 || (shards < parts)) return;
  folder.files.insert(folder.files.begin(), *config);
  sum_up(&folder);
  models->push_back(std::move(folder));
}

std::string stem_of(std::string_view path) { return std::string(name_part(gguf_name(path).stem)); }

std::string path_label(std::string_view path) { return std::string(without_ending(path)); }

// Labels each model by its shortest name that no other model has.
void label_files(std::span<RepoModel> models) {
  using Naming = std::string (*)(std::string_view path);
  for (const Naming name : {Naming{quant_of}, Naming{stem_of}, Naming{path_label}}) {
    std::map<std::string, size_t> counts;
    for (const RepoModel& model : models) ++counts[ascii_upper(name(model.files[0].path))];
    for (RepoModel& model : models) {
      if (!model.label.empty()) continue;
      std::string label = name(model.files[0].path);
      if (counts[ascii_upper(label)] == 1 || name == path_label) model.label = std::move(label);
    }
  }
}

bool means(const RepoModel& model, const HubName& name) {
  if (!name.file.empty()) {
    return std::ranges::any_of(model.files, [&](const RepoFile& f) { return f.path == name.file; });
  }
  const std::string label = ascii_upper(model.label), quant = ascii_upper(name.quant);
  return label == quant || label == "UD-" + quant;
}

std::string labels_text(std::span<const RepoModel> models) {
  std::string text;
  for (const RepoModel& model : models) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(model.label),
                        bytes_text(model.bytes));
  }
  return text;
}

}  // namespace

GgufName gguf_name(std::string_view path) { return part_of(without_ending(path)); }

bool is_model_name(std::string_view path) {
  const std::string name = ascii_lower(name_part(path));
  return ends_as_gguf(name) && !name.starts_with('.') && name.find("imatrix") == name.npos &&
         name.find("mmproj") == name.npos;
}

std::string quant_of(std::string_view path) {
  const std::string_view stem = name_part(gguf_name(path).stem);
  std::string found;
  bool dynamic = false;
  for (size_t at = 0; at <= stem.size();) {
    const size_t end = std::min(stem.find_first_of("-.", at), stem.size());
    const std::string word = ascii_upper(stem.substr(at, end - at));
    if (rank_of(word) < kQuants.size()) found = (dynamic ? "UD-" : "") + word;
    dynamic = word == "UD";
    at = end + 1;
  }
  return found;
}

std::vector<RepoModel> find_repo_models(std::span<const RepoFile> files) {
  // Files by folder and stem; the parts of each by number.
  std::map<std::string, std::map<uint64_t, RepoFile>> groups;
  std::map<std::string, uint64_t> counts;
  for (const RepoFile& file : files) {
    if (!is_model_name(file.path)) continue;
    const GgufName name = gguf_name(file.path);
    const std::string key = fmt::format("{}{}", name.stem, name.parts > 1 ? " in parts" : "");
    groups[key][name.part] = file;
    counts[key] = name.parts;
  }
  std::vector<RepoModel> models;
  for (auto& [key, parts] : groups) {
    if (parts.size() != counts[key] || parts.begin()->first != 1) continue;
    RepoModel model;
    for (auto& [number, file] : parts) model.files.push_back(file);
    sum_up(&model);
    models.push_back(std::move(model));
  }
  label_files(models);
  add_folder(files, &models);
  std::ranges::sort(models, {}, &RepoModel::label);
  return models;
}

std::vector<const RepoModel*> repo_choices(std::span<const RepoModel> models, const HubName& name,
                                           uint64_t room) {
  if (models.empty()) {
    fail(ErrorCode::kFile,
         "'{}' has no model that hearth can run: it has neither a complete GGUF file nor a "
         "config.json with safetensors files",
         name.id());
  }
  if (!name.quant.empty() || !name.file.empty()) {
    for (const RepoModel& model : models) {
      if (means(model, name)) return {&model};
    }
    fail(ErrorCode::kFile, "'{}' has no model '{}'; it has {}", name.id(),
         printable(name.quant.empty() ? name.file : name.quant), labels_text(models));
  }
  std::vector<const RepoModel*> choices;
  const RepoModel* smallest = nullptr;
  const size_t usual = rank_of(kUsual);
  for (const RepoModel& model : models) {
    const bool preferred = smallest == nullptr || (smallest->folder && !model.folder);
    if (preferred || (model.bytes < smallest->bytes && !model.folder)) smallest = &model;
    const size_t rank = rank_of(model.label);
    if (rank >= usual && rank < kQuants.size() && model.bytes <= room) choices.push_back(&model);
  }
  std::ranges::stable_sort(choices, {},
                           [](const RepoModel* model) { return rank_of(model->label); });
  if (std::ranges::count(choices, smallest) == 0) choices.push_back(smallest);
  return choices;
}

}  // namespace hearth
