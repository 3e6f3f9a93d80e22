#include "formats/gguf.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "formats/gguf_split.h"
#include "formats/printable.h"

namespace hearth {

namespace {

MappedFile open_part(const std::string& first, uint32_t index, uint32_t count) {
  std::string path = gguf_part_path(first, index, count);
  try {
    return MappedFile::open(path);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "part {} of {} of the model in '{}': {}", index + 1, count, first,
         error.what());
  }
}

}  // namespace

GgufFile GgufFile::open(const std::string& path, GgufUnknownTypes unknown) {
  std::vector<GgufPart> parts;
  parts.push_back(read_gguf_part(MappedFile::open(path), 0, unknown));
  uint32_t count = gguf_part_count(parts[0].metadata, path);
  for (uint32_t i = 1; i < count; ++i) {
    parts.push_back(read_gguf_part(open_part(path, i, count), i, unknown));
  }
  return GgufFile(std::move(parts));
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, std::string name,
                         GgufUnknownTypes unknown) {
  std::vector<MappedFile> files;
  files.push_back(MappedFile::view(bytes, std::move(name)));
  return parse(std::move(files), unknown);
}

GgufFile GgufFile::parse(std::vector<std::byte>&& bytes, std::string name,
                         GgufUnknownTypes unknown) {
  std::vector<MappedFile> files;
  files.push_back(MappedFile::own(std::move(bytes), std::move(name)));
  return parse(std::move(files), unknown);
}

GgufFile GgufFile::parse(std::vector<MappedFile> files, GgufUnknownTypes unknown) {
  HEARTH_CHECK(!files.empty(), "a model has at least one file");
  std::vector<GgufPart> parts;
  for (MappedFile& file : files) {
    parts.push_back(read_gguf_part(std::move(file), static_cast<uint32_t>(parts.size()), unknown));
  }
  return GgufFile(std::move(parts));
}

GgufFile::GgufFile(std::vector<GgufPart> parts) : parts_(std::move(parts)) {
  check_gguf_parts(parts_);
  for (GgufPart& part : parts_) {
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(tensors_));
    part.tensors = {};
  }
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const GgufTensor& tensor = tensors_[by_name_[i]];
    if (tensor.name != tensors_[by_name_[i - 1]].name) continue;
    fail(ErrorCode::kFile,
         "'{}': tensor '{}' stands twice in the model; download or convert it again",
         parts_[tensor.part].file.name(), printable(tensor.name));
  }
}

uint64_t GgufFile::file_bytes() const {
  uint64_t sum = 0;
  for (const GgufPart& part : parts_) sum += part.file.bytes().size();
  return sum;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  if (at == by_name_.end() || tensors_[*at].name != name) return nullptr;
  return &tensors_[*at];
}

const GgufTensor& GgufFile::require_tensor(std::string_view name) const {
  if (const GgufTensor* tensor = find_tensor(name)) return *tensor;
  fail(ErrorCode::kFile,
       "'{}': tensor '{}' is missing; the file is incomplete, download or convert the model again",
       this->name(), printable(name));
}

void GgufFile::release(const GgufTensor& tensor) const {
  parts_[tensor.part].file.release(tensor.offset, tensor.n_bytes());
}

}  // namespace hearth
