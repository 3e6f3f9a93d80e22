#include "formats/model_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/printable.h"
#include "formats/gguf.h"
#include "formats/hf_source.h"
#include "formats/source_rows.h"

namespace hearth {

ModelSource ModelSource::open(const std::string& path, HfFamilies families, UnknownTypes unknown) {
  const std::string folder = hf_folder_of(path);
  ModelSource source =
      folder.empty() ? open_gguf(path, unknown) : open_hf_folder(folder, families, unknown);
  source.require_whole();
  return source;
}

ModelSource ModelSource::open_shape(const std::string& path, HfFamilies families) {
  if (std::string folder = hf_folder_of(path); !folder.empty()) {
    return open_hf_shape(folder, families);
  }
  return open_gguf(path);
}

ModelSource::ModelSource(const SourceFormat& format, uint32_t version,
                         std::vector<MappedFile> files, Metadata metadata,
                         std::vector<SourceTensor> tensors, SourceExtras extras)
    : format_(&format),
      version_(version),
      files_(std::move(files)),
      metadata_(std::move(metadata)),
      tensors_(std::move(tensors)),
      by_name_(tensors_.size()),
      extras_(std::move(extras)) {
  HEARTH_CHECK(!files_.empty(), "a model has at least one file");
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const SourceTensor& tensor = tensors_[by_name_[i]];
    if (tensor.name != tensors_[by_name_[i - 1]].name) continue;
    fail(ErrorCode::kFile,
         "'{}': tensor '{}' appears twice in the model; download or convert it again",
         tensor.part == kNoPart ? name() : files_[tensor.part].name(), printable(tensor.name));
  }
}

uint64_t ModelSource::file_bytes() const {
  uint64_t sum = 0;
  for (const MappedFile& file : files_) sum += file.bytes().size();
  return sum;
}

const MappedFile* ModelSource::find_document(std::string_view name) const {
  for (const MappedFile& file : extras_.documents) {
    const std::string_view path = file.name();
    if (path.substr(path.rfind('/') + 1) == name) return &file;
  }
  return nullptr;
}

void ModelSource::require_whole() const {
  for (const MappedFile& file : files_) file.require_whole();
  for (const MappedFile& file : extras_.documents) file.require_whole();
}

std::optional<std::string_view> ModelSource::chat_template() const {
  return metadata_.get<std::string_view>("tokenizer.chat_template");
}

const SourceTensor* ModelSource::find_tensor(std::string_view name) const {
  auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  if (at == by_name_.end() || tensors_[*at].name != name) return nullptr;
  return &tensors_[*at];
}

const SourceTensor& ModelSource::require_tensor(std::string_view name) const {
  if (const SourceTensor* tensor = find_tensor(name)) return *tensor;
  fail(ErrorCode::kFile,
       "'{}': tensor '{}' is missing; the file is incomplete, download or convert the model again",
       this->name(), printable(name));
}

void ModelSource::release(const SourceTensor& tensor) const { release(tensor, 0, tensor.rows()); }

void ModelSource::release(const SourceTensor& tensor, uint64_t first, uint64_t rows) const {
  for_file_ranges(tensor, first, rows, [&](const FileRange& range) {
    files_[range.part].release(range.offset, range.bytes);
  });
}

}  // namespace hearth
