#include "formats/gguf_writer.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"
#include "formats/gguf_types.h"

namespace hearth {

void GgufWriter::append_string(std::vector<std::byte>& out, std::string_view text) {
  append(out, static_cast<uint64_t>(text.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

void GgufWriter::set(std::string_view key, std::string_view value) {
  std::vector<std::byte> bytes;
  append_string(bytes, value);
  set_raw(key, static_cast<uint32_t>(MetaType::kString), std::move(bytes));
}

void GgufWriter::set(std::string_view key, const std::vector<std::string>& values) {
  std::vector<std::byte> bytes;
  append(bytes, static_cast<uint32_t>(MetaType::kString));
  append(bytes, static_cast<uint64_t>(values.size()));
  for (const std::string& value : values) append_string(bytes, value);
  set_raw(key, static_cast<uint32_t>(MetaType::kArray), std::move(bytes));
}

void GgufWriter::set(std::string_view key, const MetaValue& value) {
  std::vector<std::byte> bytes;
  if (value.is_array()) append(bytes, static_cast<uint32_t>(value.element_type));
  // A string's payload has no length of its own, so one is written before it.
  const bool counted = value.is_array() || value.type == MetaType::kString;
  if (counted) append(bytes, uint64_t{value.is_array() ? value.count : value.payload.size()});
  bytes.insert(bytes.end(), value.payload.begin(), value.payload.end());
  set_raw(key, static_cast<uint32_t>(value.type), std::move(bytes));
}

void GgufWriter::set_raw(std::string_view key, uint32_t type, std::vector<std::byte> bytes) {
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.type = type;
    entry.bytes = std::move(bytes);
    return;
  }
  entries_.push_back({std::string(key), type, std::move(bytes)});
}

void GgufWriter::set_all(const GgufWriter& other) {
  for (const Entry& entry : other.entries_) set_raw(entry.key, entry.type, entry.bytes);
}

void GgufWriter::erase(std::string_view key) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
}

void GgufWriter::declare_tensor(std::string_view name, std::vector<uint64_t> dims, DType dtype) {
  HEARTH_CHECK(!dims.empty() && dims.size() <= kGgufMaxDims, "a tensor has 1 to 4 dimensions");
  uint64_t size = row_bytes(dtype, dims[0]);
  for (size_t i = 1; i < dims.size(); ++i) size *= dims[i];
  tensors_.push_back({std::string(name), std::move(dims), dtype, size, {}});
}

void GgufWriter::add_tensor(std::string_view name, std::vector<uint64_t> dims, DType dtype,
                            std::span<const std::byte> bytes) {
  declare_tensor(name, std::move(dims), dtype);
  HEARTH_CHECK(tensors_.back().size == bytes.size(),
               "a tensor's bytes must fit its dimensions and type");
  tensors_.back().bytes.assign(bytes.begin(), bytes.end());
}

uint64_t GgufWriter::alignment() const {
  for (const Entry& entry : entries_) {
    if (entry.key != "general.alignment" || entry.bytes.size() != sizeof(uint32_t)) continue;
    uint32_t value = load_number<uint32_t>(entry.bytes.data());
    if (std::has_single_bit(value)) return value;
  }
  return kGgufDefaultAlignment;
}

std::vector<std::byte> GgufWriter::head() const {
  std::vector<std::byte> out;
  for (char c : {'G', 'G', 'U', 'F'}) append(out, c);
  append(out, version_);
  append(out, static_cast<uint64_t>(tensors_.size()));
  append(out, static_cast<uint64_t>(entries_.size()));
  for (const Entry& entry : entries_) {
    append_string(out, entry.key);
    append(out, entry.type);
    out.insert(out.end(), entry.bytes.begin(), entry.bytes.end());
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append(out, static_cast<uint32_t>(tensor.dims.size()));
    for (uint64_t dim : tensor.dims) append(out, dim);
    append(out, gguf_type_of(tensor.dtype));
    append(out, offset);
    offset += round_up(tensor.size, alignment());
  }
  out.resize(round_up(out.size(), alignment()));
  return out;
}

std::vector<std::byte> GgufWriter::finish() const {
  std::vector<std::byte> out = head();
  for (const Tensor& tensor : tensors_) {
    HEARTH_CHECK(tensor.bytes.size() == tensor.size, "a file's tensors have their data");
    out.insert(out.end(), tensor.bytes.begin(), tensor.bytes.end());
    out.resize(round_up(out.size(), alignment()));
  }
  return out;
}

void GgufWriter::save(const std::string& path) const {
  std::vector<std::byte> bytes = finish();
  auto close = [](std::FILE* file) { return std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wb"), close);
  if (!file) {
    fail(ErrorCode::kFile, "cannot create '{}': {}; check the folder and its permissions", path,
         std::strerror(errno));
  }
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) {
    fail(ErrorCode::kFile, "cannot write {} bytes to '{}': {}; check the space left on the device",
         bytes.size(), path, std::strerror(errno));
  }
}

}  // namespace hearth
