// ModelSource: where a model comes from, as a value that names no file format: tensors by name with
// their types, shapes and bytes, hyper-parameters and other metadata, the vocabulary.
//
//   ModelSource source = open_model_source("model.gguf");  // or a folder with safetensors
//   auto layers = source.metadata().require<uint32_t>("llama.block_count");
//   const SourceTensor& head = source.require_tensor("output.weight");
//
// Names of tensors and keys are GGUF's, which every reader of a format translates to. Files are
// mapped, and everything returned (names, strings, the tensors' bytes) is a view into the maps. It
// is valid while the source, or the object that it was moved to, lives.
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

// The functions by which a format serves its own sources.
struct SourceFormat {
  const char* name;  // "GGUF"
  // Returns whether the source has a vocabulary; some files hold only weights.
  bool (*has_vocabulary)(const ModelSource& source);
  // Reads the vocabulary. Throws if there is none (kFile), or one of a kind that this program does
  // not know (kUnsupported).
  Vocab (*vocabulary)(const ModelSource& source);
};

// Parts of a source that not every format has.
struct SourceExtras {
  std::string name;                   // the model's name; empty: that of its first file
  std::vector<MappedFile> documents;  // files without tensors
  std::vector<std::string> notes;     // sentences about tensors that were left out
  std::shared_ptr<const void> kept;   // owns data of metadata and tensors that lies in no file
};

class ModelSource {
 public:
  // Opens a GGUF file, the first of several, or a folder of Hugging Face's layout
  // (formats/hf_source.h), which may be given as a file in it. The folder must be of one of
  // `families`; open_model_source (models/registry.h) passes all.
  static ModelSource open(const std::string& path, HfFamilies families,
                          UnknownTypes unknown = UnknownTypes::kRefuse);
  // Opens a source only for its types and shapes: a folder needs no file but config.json.
  static ModelSource open_shape(const std::string& path, HfFamilies families);

  // Makes a source of what a format's reader found. `files` are not empty; tensors lie in them.
  // Throws (kFile) if two tensors have one name.
  ModelSource(const SourceFormat& format, uint32_t version, std::vector<MappedFile> files,
              Metadata metadata, std::vector<SourceTensor> tensors, SourceExtras extras = {});

  // Returns the path (or name) of the first file, or of the folder.
  const std::string& name() const { return extras_.name.empty() ? files_[0].name() : extras_.name; }
  const char* format_name() const { return format_->name; }
  // Returns the format's version in the file; 0 if the format has none.
  uint32_t format_version() const { return version_; }
  // Returns the files with tensors.
  std::span<const MappedFile> files() const { return files_; }
  // Returns the size of all files with tensors.
  uint64_t file_bytes() const;
  // Returns the document of that name ("tokenizer.json") beside the files, or nullptr.
  const MappedFile* find_document(std::string_view name) const;
  // Returns sentences about tensors that the reader left out, for the log.
  std::span<const std::string> notes() const { return extras_.notes; }

  // Throws (kFile) if a file or document was changed since it was opened: data read from it may be
  // wrong.
  void require_whole() const;

  const Metadata& metadata() const { return metadata_; }
  bool has_vocabulary() const { return format_->has_vocabulary(*this); }
  Vocab vocabulary() const { return format_->vocabulary(*this); }
  // Returns the Jinja template that turns a chat into a prompt; none if the source has none.
  std::optional<std::string_view> chat_template() const;

  // Returns the tensors in the order of the files and within each file.
  std::span<const SourceTensor> tensors() const { return tensors_; }
  // Returns the tensor, or nullptr.
  const SourceTensor* find_tensor(std::string_view name) const;
  // Throws if the source has no such tensor.
  const SourceTensor& require_tensor(std::string_view name) const;
  // Tells that the tensor, or these rows of it, were copied: their pages need not stay in memory.
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
