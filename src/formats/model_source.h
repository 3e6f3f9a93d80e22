// ModelSource: where a model comes from, as a value that names no file format: tensors by name with
// their types, shapes and bytes, hyper-parameters and other metadata, the vocabulary.
//
//   ModelSource source = open_model_source("model.gguf");  // or a folder with safetensors
//   auto layers = source.metadata().require<uint32_t>("llama.block_count");
//   const SourceTensor& head = source.require_tensor("output.weight");
//
// Names of tensors and keys are GGUF's, which every reader of a format translates to. Files are
// mapped, and everything returned (names, strings, the tensors' bytes) is a view into the maps,
// valid while the source, or what it was moved to, lives.
//
// A reader treats its files as hostile: it has checked all but the tensors' contents.
// Errors (kFile) name the file, the field, and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_family.h"
#include "formats/mapped_file.h"
#include "formats/metadata.h"
#include "formats/source_tensor.h"
#include "formats/vocab.h"

namespace hearth {

class ModelSource;

// A format handles a source of its own with these.
struct SourceFormat {
  const char* name;  // "GGUF"
  // Whether there is a vocabulary at all; some files are made for weights alone.
  bool (*has_vocabulary)(const ModelSource& source);
  // Throws where there is none (kFile), or one of a kind that this program does not know
  // (kUnsupported).
  Vocab (*vocabulary)(const ModelSource& source);
};

// The parts of a source that not every format brings.
struct SourceExtras {
  std::string name;                   // the model's; empty: that of its first file
  std::vector<MappedFile> documents;  // files that hold no tensors
  std::vector<std::string> notes;     // sentences on what was left out
  std::shared_ptr<const void> kept;   // what metadata and tensors point to beside the files
};

class ModelSource {
 public:
  // A model in one GGUF file, the first file of several, or a folder of Hugging Face's layout
  // (formats/hf_source.h), for which a file in it may stand. Folders of these families are known;
  // open_model_source (models/registry.h) knows all.
  static ModelSource open(const std::string& path, HfFamilies families,
                          UnknownTypes unknown = UnknownTypes::kRefuse);
  // Opens a source for types and shapes alone: of a folder config.json will do.
  static ModelSource open_shape(const std::string& path, HfFamilies families);

  // Takes what a reader found. `files` are not empty; tensors lie in them. Throws (kFile) where two
  // tensors have one name.
  ModelSource(const SourceFormat& format, uint32_t version, std::vector<MappedFile> files,
              Metadata metadata, std::vector<SourceTensor> tensors, SourceExtras extras = {});

  // The path (or name) of the first file, or of the folder.
  const std::string& name() const { return extras_.name.empty() ? files_[0].name() : extras_.name; }
  const char* format_name() const { return format_->name; }
  // 0 where the format has none.
  uint32_t format_version() const { return version_; }
  // Returns the files with tensors.
  std::span<const MappedFile> files() const { return files_; }
  // Bytes of all of these together.
  uint64_t file_bytes() const;
  // The document of that name ("tokenizer.json") beside them, or nullptr.
  const MappedFile* find_document(std::string_view name) const;
  // Sentences on what the reader left out, for the log.
  std::span<const std::string> notes() const { return extras_.notes; }

  // Throws (kFile) where a file or document was changed since it was opened: what was read of it
  // may be wrong.
  void require_whole() const;

  const Metadata& metadata() const { return metadata_; }
  bool has_vocabulary() const { return format_->has_vocabulary(*this); }
  Vocab vocabulary() const { return format_->vocabulary(*this); }
  // The Jinja template that turns a chat into a prompt.
  std::optional<std::string_view> chat_template() const;

  // Returns the tensors in the order of the files and within each file.
  std::span<const SourceTensor> tensors() const { return tensors_; }
  // The tensor, or nullptr.
  const SourceTensor* find_tensor(std::string_view name) const;
  // Throws where the source has no such tensor.
  const SourceTensor& require_tensor(std::string_view name) const;
  // The caller has copied the tensor, or these rows of it: their pages need not stay in memory.
  // Throws nothing.
  void release(const SourceTensor& tensor) const;
  void release(const SourceTensor& tensor, uint64_t first, uint64_t rows) const;

 private:
  const SourceFormat* format_;
  uint32_t version_;
  std::vector<MappedFile> files_;
  Metadata metadata_;
  std::vector<SourceTensor> tensors_;
  std::vector<uint32_t> by_name_;
  SourceExtras extras_;
};

}  // namespace hearth
