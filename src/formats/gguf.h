// GGUF model files, version 2 and 3, little endian, in one file or split into several
// (`name-00001-of-00003.gguf`): https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
//   GgufFile file = GgufFile::open("model.gguf");
//   auto layers = file.metadata().require<uint32_t>("llama.block_count");
//   const GgufTensor& head = file.require_tensor("output.weight");
//
// Opening the first part of a split model opens all of them; the metadata is the first part's, the
// tensors are those of all parts. Files are mapped, and everything returned - names, strings,
// tensor data - is a view into the map, valid while the GgufFile (or what it was moved to) lives.
//
// A file is hostile until proven otherwise: open() and parse() check all of it but the tensors'
// contents, and throw hearth::Error (kFile) with the file, the field, and the remedy. Checked are
// sizes and offsets (inside the file, aligned, not overlapping), types, counts, names that stand
// twice, the parts of a split model against each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_metadata.h"
#include "formats/gguf_part.h"
#include "formats/mapped_file.h"

namespace hearth {

class GgufFile {
 public:
  static GgufFile open(const std::string& path,
                       GgufUnknownTypes unknown = GgufUnknownTypes::kRefuse);
  // From memory that outlives the object, or that the object keeps; `name` is for messages. Where
  // the bytes begin at a multiple of 8, so does the data of the tensors.
  static GgufFile parse(std::span<const std::byte> bytes, std::string name,
                        GgufUnknownTypes unknown = GgufUnknownTypes::kRefuse);
  static GgufFile parse(std::vector<std::byte>&& bytes, std::string name,
                        GgufUnknownTypes unknown = GgufUnknownTypes::kRefuse);
  // From all parts of a split model, in order.
  static GgufFile parse(std::vector<MappedFile> files,
                        GgufUnknownTypes unknown = GgufUnknownTypes::kRefuse);

  // The path (or name) of the first part.
  const std::string& name() const { return parts_[0].file.name(); }
  size_t part_count() const { return parts_.size(); }
  // The parts as files, with their own versions and metadata.
  const GgufPart& part(size_t index) const { return parts_[index]; }
  // Of all parts together.
  uint64_t file_bytes() const;

  uint32_t version() const { return parts_[0].version; }
  uint64_t alignment() const { return parts_[0].alignment; }
  const GgufMetadata& metadata() const { return parts_[0].metadata; }

  // In the order of the parts and of each file.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  // The tensor, or nullptr.
  const GgufTensor* find_tensor(std::string_view name) const;
  // Throws where the file has no such tensor.
  const GgufTensor& require_tensor(std::string_view name) const;

  // The caller has copied the tensor: its pages need not stay in memory.
  void release(const GgufTensor& tensor) const;

 private:
  explicit GgufFile(std::vector<GgufPart> parts);

  std::vector<GgufPart> parts_;  // their `tensors` are moved to tensors_
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> by_name_;
};

}  // namespace hearth
