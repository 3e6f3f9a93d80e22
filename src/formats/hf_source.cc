#include "formats/hf_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/error.h"
#include "base/printable.h"
#include "formats/config_reader.h"
#include "formats/hf_config.h"
#include "formats/hf_modules.h"
#include "formats/hf_quant.h"
#include "formats/hf_shape.h"
#include "formats/hf_tensors.h"
#include "formats/hf_vocab.h"
#include "formats/safetensors.h"

namespace hearth {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kWhole = "model.safetensors";
constexpr std::string_view kEnding = ".safetensors";
constexpr std::string_view kGeneration = "generation_config.json";
constexpr std::string_view kTemplate = "chat_template.jinja";
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";
// Documents beside the weights that describe the model.
constexpr std::array<std::string_view, 12> kDocuments = {kConfig,
                                                         kHfQuantFile,
                                                         kHfModules,
                                                         kHfLengths,
                                                         kIndex,
                                                         kGeneration,
                                                         kTemplate,
                                                         kTokenizerConfig,
                                                         "tokenizer.json",
                                                         "tiktoken.model",
                                                         "special_tokens_map.json",
                                                         "added_tokens.json"};
// The index of a model with 91,000 tensors has 9 MB.
constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

constexpr SourceFormat kFormat{"safetensors", hf_has_vocabulary, hf_vocabulary};

// The metadata and tensors that a source points to.
struct Made {
  MadeMetadata metadata;
  HfTensors tensors;
};

const MappedFile* find_file(const std::vector<MappedFile>& files, std::string_view name) {
  for (const MappedFile& file : files) {
    if (last_part(file.name()) == name) return &file;
  }
  return nullptr;
}

// If modules.json names a pooling step, takes that step's config.json out of the documents, since
// it has the same file name as the model's config.json.
std::optional<MappedFile> take_pooling(std::vector<MappedFile>* documents) {
  const MappedFile* modules = find_file(*documents, kHfModules);
  if (modules == nullptr) return std::nullopt;
  const std::string folder = hf_pooling_folder(*modules);
  if (folder.empty()) return std::nullopt;
  const std::string name = fmt::format("/{}/{}", folder, kConfig);
  const auto at = std::ranges::find_if(
      *documents, [&](const MappedFile& file) { return file.name().ends_with(name); });
  if (at == documents->end()) {
    fail(ErrorCode::kFile, "'{}' names the folder '{}', which has no {}: download that file, too",
         modules->name(), printable(folder), kConfig);
  }
  std::optional<MappedFile> pooling = std::move(*at);
  documents->erase(at);
  return pooling;
}

// Reads the quantisation from modelopt's document, if config.json has none.
void read_quant_beside(const std::vector<MappedFile>& documents, HfConfig* model) {
  const MappedFile* file = find_file(documents, kHfQuantFile);
  if (file == nullptr || model->family->encoder || !model->quant.method.empty()) return;
  const boost::json::value json = read_json_file(*file, kMaxConfigBytes);
  model->quant = read_hf_quant_file(ConfigReader(json.get_object(), file->name()));
}

// Reads the files beside config.json that describe an encoder, or the pooling of a decoder.
void read_beside(const std::vector<MappedFile>& documents, const std::optional<MappedFile>& pooling,
                 HfConfig* model, MadeMetadata& metadata) {
  if (pooling) read_hf_pooling(*pooling, model);
  if (const MappedFile* lengths = find_file(documents, kHfLengths)) {
    read_hf_lengths(*lengths, model);
  }
  auto say = [&](const char* key, HfValue value) {
    metadata.set(model->key(key), static_cast<uint32_t>((*model)[value]));
  };
  if (model->family->encoder) say("context_length", HfValue::kContext);
  if ((*model)[HfValue::kPooling] != 0) say("pooling_type", HfValue::kPooling);
}

std::optional<std::string> template_of(const std::vector<MappedFile>& documents) {
  if (const MappedFile* file = find_file(documents, kTemplate)) {
    const std::string_view text = without_byte_order_mark(
        {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
    // A blank template counts as none; tokenizer_config.json may have one.
    if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) return std::string(text);
  }
  const MappedFile* file = find_file(documents, kTokenizerConfig);
  if (file == nullptr) return std::nullopt;
  const boost::json::value json = read_json_file(*file, kMaxConfigBytes);
  const boost::json::value* text = json.get_object().if_contains("chat_template");
  // A file may have several templates with names; the one for chats is taken.
  if (text != nullptr && text->is_array()) {
    const boost::json::value* found = nullptr;
    for (const boost::json::value& named : text->get_array()) {
      const boost::json::object* object = named.if_object();
      if (object == nullptr || !object->contains("name")) continue;
      if (object->at("name") == "default") found = object->if_contains("template");
    }
    text = found;
  }
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return std::string(text->get_string().data(), text->get_string().size());
}

void add_documents(const std::vector<MappedFile>& documents, MadeMetadata& metadata) {
  if (const MappedFile* file = find_file(documents, kGeneration)) {
    const boost::json::value json = read_json_file(*file, kMaxConfigBytes);
    read_generation_config(ConfigReader(json.get_object(), file->name()), metadata);
  }
  if (auto text = template_of(documents)) {
    metadata.set("tokenizer.chat_template", std::string_view(*text));
  }
}

// Checks that every tensor of the index is in the file that it names.
void check_index(const MappedFile& index, const std::vector<MappedFile>& files,
                 const std::vector<std::vector<SafeTensor>>& stored) {
  std::set<std::pair<std::string, std::string_view>> there;
  for (size_t part = 0; part < files.size(); ++part) {
    for (const SafeTensor& tensor : stored[part]) {
      there.insert({last_part(files[part].name()), tensor.name});
    }
  }
  for (const IndexEntry& entry : read_safetensors_index(index)) {
    if (there.contains({entry.file, entry.tensor})) continue;
    fail(ErrorCode::kFile,
         "'{}' places tensor '{}' in '{}', which does not have it: the files do not belong "
         "together, download them again",
         index.name(), printable(entry.tensor), printable(entry.file));
  }
}

void check_file_name(const MappedFile& index, std::string_view file) {
  const bool plain = !file.empty() && file.find('/') == std::string_view::npos &&
                     file.find('\\') == std::string_view::npos &&
                     file.find('\0') == std::string_view::npos && file.ends_with(kEnding) &&
                     !file.starts_with('.');
  if (plain) return;
  fail(ErrorCode::kFile,
       "'{}' names the file '{}', which is not the plain name of a {} file in its own folder; "
       "download the model from a source you trust",
       index.name(), printable(file), kEnding);
}

// Throws an error that names what the folder holds instead of safetensors.
[[noreturn]] void fail_no_weights(const fs::path& folder) {
  bool pickled = false, gguf = false;
  size_t others = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().native();
    pickled = pickled || name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth");
    gguf = gguf || name.ends_with(".gguf");
    if (name.ends_with(kEnding)) ++others;
  }
  if (others > 0) {
    fail(ErrorCode::kFile,
         "'{}' has {} {} files, but neither {} nor {}: it is incomplete, download it again",
         folder.native(), others, kEnding, kWhole, kIndex);
  }
  if (gguf) fail(ErrorCode::kFile, "'{}' is a folder; name the .gguf file in it", folder.native());
  if (pickled) {
    fail(ErrorCode::kFile,
         "'{}' has its weights in PyTorch pickle files (.bin), which are not read, as they may "
         "contain programs; download or convert the model as safetensors",
         folder.native());
  }
  fail(ErrorCode::kFile, "'{}' has no weights: neither {} nor {}; download the model",
       folder.native(), kWhole, kIndex);
}

// Returns the names of the files with weights.
std::vector<std::string> weight_files(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kIndex, error)) {
    std::set<std::string> files;
    const MappedFile index = MappedFile::open((folder / kIndex).native());
    for (const IndexEntry& entry : read_safetensors_index(index)) files.insert(entry.file);
    return {files.begin(), files.end()};
  }
  if (fs::exists(folder / kWhole, error)) return {std::string(kWhole)};
  fail_no_weights(folder);
}

// Opens config.json and the other documents beside the weights.
std::vector<MappedFile> open_documents(const std::string& folder) {
  const fs::path path = folder;
  std::error_code error;
  if (!fs::exists(path / kConfig, error)) {
    if (!fs::exists(path, error)) {
      fail(ErrorCode::kFile, "'{}' does not exist; check the path", folder);
    }
    fail(ErrorCode::kFile,
         "'{}' is a folder without {}; name the folder of a model with safetensors files, or a "
         ".gguf file",
         folder, kConfig);
  }
  std::vector<MappedFile> files;
  for (std::string_view document : kDocuments) {
    if (fs::exists(path / document, error)) {
      files.push_back(MappedFile::open((path / document).native()));
    }
  }
  if (const MappedFile* modules = find_file(files, kHfModules)) {
    const std::string pooling = hf_pooling_folder(*modules);
    if (!pooling.empty() && fs::exists(path / pooling / kConfig, error)) {
      files.push_back(MappedFile::open((path / pooling / kConfig).native()));
    }
  }
  return files;
}

// Makes a source of tensors that lie in `weights`; `stored` has those of each file.
ModelSource make_source(std::vector<MappedFile> documents, std::vector<MappedFile> weights,
                        const std::vector<std::vector<SafeTensor>>& stored,
                        std::shared_ptr<Made> made, const HfConfig& model, const std::string& name,
                        UnknownTypes unknown) {
  made->metadata.set("general.name", std::string_view(last_part(name)));
  add_documents(documents, made->metadata);
  made->tensors = make_hf_tensors(model, weights, stored, name, unknown);
  Metadata metadata = made->metadata.metadata(find_file(documents, kConfig)->name());
  std::vector<SourceTensor> tensors = std::move(made->tensors.tensors);
  SourceExtras extras = {.name = name,
                         .documents = std::move(documents),
                         .notes = std::move(made->tensors.notes),
                         .kept = std::move(made)};
  return {kFormat,          0, std::move(weights), std::move(metadata), std::move(tensors),
          std::move(extras)};
}

}  // namespace

std::vector<IndexEntry> read_safetensors_index(const MappedFile& file) {
  const boost::json::value json = read_json_file(file, kMaxIndexBytes);
  const boost::json::value* map = json.get_object().if_contains("weight_map");
  if (map == nullptr || !map->is_object() || map->get_object().empty()) {
    fail(ErrorCode::kFile, "'{}' has no weight_map of tensors; download it again", file.name());
  }
  std::vector<IndexEntry> entries;
  for (const auto& [tensor, where] : map->get_object()) {
    if (!where.is_string()) {
      fail(ErrorCode::kFile, "'{}' names no file for tensor '{}'; download it again", file.name(),
           printable({tensor.data(), tensor.size()}));
    }
    const boost::json::string& name = where.get_string();
    entries.push_back({{tensor.data(), tensor.size()}, {name.data(), name.size()}});
    check_file_name(file, entries.back().file);
  }
  return entries;
}

std::string hf_folder_of(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const size_t end = path.find_last_not_of('/');
    return end == std::string::npos ? path : path.substr(0, end + 1);
  }
  const std::string name = last_part(path);
  if (name != kConfig && name != kIndex && !name.ends_with(kEnding)) return "";
  const std::string folder = fs::path(path).parent_path().native();
  return folder.empty() ? "." : folder;
}

ModelSource open_hf_folder(const std::string& folder, HfFamilies families, UnknownTypes unknown) {
  const fs::path path = folder;
  std::error_code error;
  std::vector<MappedFile> files = open_documents(folder);
  for (const std::string& name : weight_files(path)) {
    if (!fs::exists(path / name, error)) {
      fail(ErrorCode::kFile,
           "'{}' has no '{}', which {} names: the download is incomplete, download it again",
           folder, name, kIndex);
    }
    files.push_back(MappedFile::open((path / name).native()));
  }
  return parse_hf_folder(std::move(files), folder, families, unknown);
}

ModelSource parse_hf_folder(std::vector<MappedFile> files, const std::string& name,
                            HfFamilies families, UnknownTypes unknown) {
  std::vector<MappedFile> documents, weights;
  for (MappedFile& file : files) {
    const bool weight = file.name().ends_with(kEnding);
    (weight ? weights : documents).push_back(std::move(file));
  }
  const std::optional<MappedFile> pooling = take_pooling(&documents);
  const MappedFile* config = find_file(documents, kConfig);
  if (config == nullptr) fail(ErrorCode::kFile, "'{}' has no {}", name, kConfig);
  if (weights.empty()) fail(ErrorCode::kFile, "'{}' has no {} file", name, kEnding);

  auto made = std::make_shared<Made>();
  const boost::json::value json = read_json_file(*config, kMaxConfigBytes);
  HfConfig model =
      read_hf_config(ConfigReader(json.get_object(), config->name()), families, made->metadata);
  read_quant_beside(documents, &model);
  read_beside(documents, pooling, &model, made->metadata);
  std::vector<std::vector<SafeTensor>> stored;
  for (const MappedFile& file : weights) stored.push_back(read_safetensors(file));
  if (const MappedFile* index = find_file(documents, kIndex)) check_index(*index, weights, stored);
  return make_source(std::move(documents), std::move(weights), stored, std::move(made), model, name,
                     unknown);
}

ModelSource open_hf_shape(const std::string& folder, HfFamilies families) {
  const fs::path path = folder;
  std::error_code error;
  if (fs::exists(path / kIndex, error) || fs::exists(path / kWhole, error)) {
    return open_hf_folder(folder, families);
  }
  std::vector<MappedFile> documents = open_documents(folder);
  take_pooling(&documents);
  const MappedFile& config = *find_file(documents, kConfig);
  auto made = std::make_shared<Made>();
  const boost::json::value json = read_json_file(config, kMaxConfigBytes);
  const ConfigReader reader(json.get_object(), config.name());
  HfConfig model = read_hf_config(reader, families, made->metadata);
  read_quant_beside(documents, &model);
  if (model.family->encoder) fail_no_weights(path);
  std::vector<std::vector<SafeTensor>> stored = {shapes_of_config(reader, model)};
  // No data is there, so all tensors share one range of zeros.
  uint64_t bytes = 0;
  for (const SafeTensor& tensor : stored[0]) bytes = std::max(bytes, tensor.bytes);
  std::vector<MappedFile> weights;
  weights.push_back(MappedFile::zeros(bytes, config.name()));
  return make_source(std::move(documents), std::move(weights), stored, std::move(made), model,
                     folder, UnknownTypes::kRefuse);
}

}  // namespace hearth
