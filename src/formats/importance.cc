#include "formats/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/gguf_cursor.h"
#include "formats/gguf_part.h"

namespace hearth {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

// The fewest bytes of an entry of the older form: a name of one byte, and one value.
constexpr uint64_t kMinEntryBytes = 4 + 1 + 4 + 4 + 4;

// The lowest weight of a column, if the average of all columns is 1.
constexpr float kMinWeight = 1e-6f;

float value_at(std::span<const std::byte> values, uint64_t i) {
  return load_number<float>(values.data() + i * sizeof(float));
}

bool is_amount(float value) { return std::isfinite(value) && value >= 0; }

uint64_t matrices_of(const SourceTensor& tensor) { return tensor.rows() / tensor.matrix_rows(); }

// Throws an error about an entry.
template <typename... Args>
[[noreturn]] void fail_entry(const MappedFile& file, std::string_view entry,
                             fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorCode::kFile, "'{}': entry '{}' {}: the file is damaged, make or download it again",
       file.name(), printable(entry), fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void fail_foreign(const MappedFile& file) {
  fail(ErrorCode::kFile,
       "'{}' is not an importance matrix: it has neither tensors NAME.in_sum2 (GGUF) nor entries "
       "in the older format; make one with llama-imatrix",
       file.name());
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Reads a text behind its 32-bit length.
std::string_view read_text(GgufCursor& cursor, const GgufOwner& owner, std::string_view field) {
  const auto length = cursor.read<int32_t>(owner, field);
  if (length < 0) cursor.fail_corrupt(owner, "{} has a length of {}", field, length);
  const auto text = cursor.take(static_cast<uint64_t>(length), owner, field);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// Reads an entry of the older form.
ImportanceEntry read_entry(GgufCursor& cursor, uint64_t index) {
  ImportanceEntry entry;
  entry.name = read_text(cursor, {"entry", {}, index}, "its name");
  const GgufOwner owner{"entry", entry.name};
  const auto calls = cursor.read<int32_t>(owner, "its number of calls");
  const auto values = cursor.read<int32_t>(owner, "its number of values");
  if (values < 1) cursor.fail_corrupt(owner, "it has {} values", values);
  entry.counts = {static_cast<float>(calls)};
  entry.sums =
      cursor.take(uint64_t{sizeof(float)} * static_cast<uint32_t>(values), owner, "its values");
  return entry;
}

}  // namespace

bool ImportanceEntry::fits(const SourceTensor& tensor) const {
  const uint64_t matrices = matrices_of(tensor);
  return values() == tensor.dims[0] * matrices && (counts.size() == 1 || counts.size() == matrices);
}

void ImportanceEntry::write_weights(const SourceTensor& tensor, uint64_t row, float* out) const {
  const uint64_t columns = tensor.dims[0], matrix = row / tensor.matrix_rows();
  std::memcpy(out, sums.data() + matrix * columns * sizeof(float), columns * sizeof(float));
  double sum = 0;
  for (uint64_t c = 0; c < columns; ++c) sum += out[c];
  if (counts[counts.size() == 1 ? 0 : matrix] == 0 || sum == 0) {
    std::fill_n(out, columns, 1.0f);
    return;
  }
  const double scale = static_cast<double>(columns) / sum;
  for (uint64_t c = 0; c < columns; ++c) {
    out[c] = std::max(static_cast<float>(out[c] * scale), kMinWeight);
  }
}

Importance Importance::open(const std::string& path) { return Importance(MappedFile::open(path)); }

Importance::Importance(MappedFile file) : file_(std::move(file)) {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0) {
    read_gguf();
  } else {
    read_older();
  }
  std::ranges::sort(entries_, {}, &ImportanceEntry::name);
  check_entries();
}

void Importance::read_gguf() {
  GgufPart part = read_gguf_part(std::move(file_), 0, UnknownTypes::kRefuse);
  file_ = std::move(part.file);
  std::map<std::string_view, const SourceTensor*> counts;
  for (const SourceTensor& tensor : part.tensors) counts.emplace(tensor.name, &tensor);
  for (const SourceTensor& tensor : part.tensors) {
    std::string_view name = tensor.name;
    if (!name.ends_with(kSums)) continue;
    name.remove_suffix(kSums.size());
    const auto of = counts.find(std::string(name) + std::string(kCounts));
    if (of == counts.end()) fail_entry(file_, name, "has sums but no counts");
    if (tensor.dtype != DType::kF32 || of->second->dtype != DType::kF32) {
      fail_entry(file_, name, "has sums of {} and counts of {} instead of f32", tensor.type_text,
                 of->second->type_text);
    }
    entries_.push_back({name, tensor.data, floats_of(of->second->data)});
  }
  if (entries_.empty()) fail_foreign(file_);
  chunks_ = part.metadata.get<int32_t>("imatrix.chunk_count").value_or(0);
  const auto datasets = part.metadata.get<std::vector<std::string>>("imatrix.datasets");
  if (datasets && !datasets->empty()) dataset_ = datasets->front();
}

void Importance::read_older() {
  GgufCursor cursor(file_);
  const GgufOwner header{"the header"}, end{"the end"};
  if (cursor.left() < sizeof(int32_t) + kMinEntryBytes) fail_foreign(file_);
  const auto count = cursor.read<int32_t>(header, "the number of entries");
  if (count < 1 || static_cast<uint64_t>(count) > cursor.left() / kMinEntryBytes) {
    fail_foreign(file_);
  }
  for (int32_t i = 0; i < count; ++i) {
    entries_.push_back(read_entry(cursor, static_cast<uint64_t>(i)));
  }
  if (cursor.left() == 0) return;
  chunks_ = cursor.read<int32_t>(end, "the number of chunks");
  if (cursor.left() == 0) return;
  dataset_ = read_text(cursor, end, "the name of the dataset");
}

void Importance::check_entries() {
  std::string_view last;
  for (const ImportanceEntry& entry : entries_) {
    if (entry.name.empty()) fail_entry(file_, entry.name, "has no name");
    if (entry.name == last) fail_entry(file_, entry.name, "appears twice");
    last = entry.name;
    if (entry.values() % entry.counts.size() != 0) {
      fail_entry(file_, entry.name, "has {} counts for {} sums", entry.counts.size(),
                 entry.values());
    }
    for (const float count : entry.counts) {
      if (!is_amount(count)) fail_entry(file_, entry.name, "has a count of {}", count);
    }
    if (std::ranges::all_of(entry.counts, [](float count) { return count == 0; })) {
      fail_entry(file_, entry.name, "has counts of 0");
    }
    for (uint64_t i = 0; i < entry.values(); ++i) {
      const float sum = value_at(entry.sums, i);
      if (!is_amount(sum)) fail_entry(file_, entry.name, "has a sum of squares of {}", sum);
    }
  }
}

const ImportanceEntry* Importance::find(std::string_view tensor) const {
  const auto at = std::ranges::lower_bound(entries_, tensor, {}, &ImportanceEntry::name);
  return at != entries_.end() && at->name == tensor ? &*at : nullptr;
}

}  // namespace hearth
