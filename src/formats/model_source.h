// ModelSource: where a model comes from, as a value that names no file format: tensors by name with
// their types, shapes and bytes, hyper-parameters and other metadata, the vocabulary.
//
//   ModelSource source = ModelSource::open("model.gguf");
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

class ModelSource {
 public:
  // A model in one file, or the first file of several. GGUF is the one format there is.
  static ModelSource open(const std::string& path, UnknownTypes unknown = UnknownTypes::kRefuse);

  // Takes what a reader found. `files` are not empty; tensors lie in them. Throws (kFile) where two
  // tensors have one name.
  ModelSource(const SourceFormat& format, uint32_t version, std::vector<MappedFile> files,
              Metadata metadata, std::vector<SourceTensor> tensors);

  // The path (or name) of the first file.
  const std::string& name() const { return files_[0].name(); }
  const char* format_name() const { return format_->name; }
  uint32_t format_version() const { return version_; }
  std::span<const MappedFile> files() const { return files_; }
  // Bytes of all files together.
  uint64_t file_bytes() const;

  const Metadata& metadata() const { return metadata_; }
  bool has_vocabulary() const { return format_->has_vocabulary(*this); }
  Vocab vocabulary() const { return format_->vocabulary(*this); }
  // The Jinja template that turns a chat into a prompt.
  std::optional<std::string_view> chat_template() const;

  // In the order of the files and of each file.
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
};

}  // namespace hearth
