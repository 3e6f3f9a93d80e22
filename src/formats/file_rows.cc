#include "formats/file_rows.h"

#include "base/check.h"
#include "base/error.h"
#include "tensor/dtype.h"

namespace hearth {

FileRows::FileRows(const ModelSource& source, const SourceTensor& tensor)
    : dtype_(tensor.dtype), rows_(tensor.rows()), length_(tensor.dims[0]) {
  if (!tensor.type_known || tensor.data.empty()) {
    fail(ErrorCode::kUnsupported,
         "'{}': tensor {} of type {} cannot be read row by row in this form: convert the model to "
         "GGUF",
         source.name(), tensor.name, tensor.type_text);
  }
  row_bytes_ = hearth::row_bytes(dtype_, length_);
  const MappedFile* stored = tensor.part == kNoPart ? nullptr : &source.files()[tensor.part];
  if (stored != nullptr && stored->is_mapped()) {
    file_ = MappedFile::open(stored->name());
    if (file_->bytes().size() != stored->bytes().size()) {
      fail(ErrorCode::kFile, "'{}' was changed while it was read: load it again", stored->name());
    }
    bytes_ = file_->bytes().subspan(tensor.offset, tensor.data.size());
    return;
  }
  copy_.assign(tensor.data.begin(), tensor.data.end());
  bytes_ = copy_;
}

void FileRows::require_whole() const {
  if (file_) file_->require_whole();
}

void FileRows::read(uint64_t row, float* out) const noexcept {
  HEARTH_CHECK(row < rows_, "the table has the row");
  dequantize_row(dtype_, bytes_.data() + row * row_bytes_, length_, out);
}

}  // namespace hearth
