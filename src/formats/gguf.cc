#include "formats/gguf.h"

#include <iterator>
#include <utility>

#include "base/error.h"
#include "formats/gguf_part.h"
#include "formats/gguf_split.h"
#include "formats/gguf_vocab.h"

namespace hearth {

namespace {

constexpr SourceFormat kGguf{"GGUF", gguf_has_vocabulary, gguf_vocabulary};

MappedFile open_part(const std::string& first, uint32_t index, uint32_t count) {
  std::string path = gguf_part_path(first, index, count);
  try {
    return MappedFile::open(path);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "part {} of {} of the model in '{}': {}", index + 1, count, first,
         error.what());
  }
}

ModelSource join(std::vector<GgufPart> parts) {
  check_gguf_parts(parts);
  std::vector<MappedFile> files;
  std::vector<SourceTensor> tensors;
  for (GgufPart& part : parts) {
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(tensors));
    files.push_back(std::move(part.file));
  }
  return {kGguf, parts[0].version, std::move(files), std::move(parts[0].metadata),
          std::move(tensors)};
}

}  // namespace

ModelSource open_gguf(const std::string& path, UnknownTypes unknown) {
  std::vector<GgufPart> parts;
  parts.push_back(read_gguf_part(MappedFile::open(path), 0, unknown));
  uint32_t count = gguf_part_count(parts[0].metadata, path);
  for (uint32_t i = 1; i < count; ++i) {
    parts.push_back(read_gguf_part(open_part(path, i, count), i, unknown));
  }
  return join(std::move(parts));
}

ModelSource parse_gguf(std::span<const std::byte> bytes, std::string name, UnknownTypes unknown) {
  std::vector<MappedFile> files;
  files.push_back(MappedFile::view(bytes, std::move(name)));
  return parse_gguf(std::move(files), unknown);
}

ModelSource parse_gguf(std::vector<std::byte>&& bytes, std::string name, UnknownTypes unknown) {
  std::vector<MappedFile> files;
  files.push_back(MappedFile::own(std::move(bytes), std::move(name)));
  return parse_gguf(std::move(files), unknown);
}

ModelSource parse_gguf(std::vector<MappedFile> files, UnknownTypes unknown) {
  std::vector<GgufPart> parts;
  for (MappedFile& file : files) {
    parts.push_back(read_gguf_part(std::move(file), static_cast<uint32_t>(parts.size()), unknown));
  }
  return join(std::move(parts));
}

}  // namespace hearth
