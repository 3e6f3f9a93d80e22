#include "store/header_check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/bytes_text.h"
#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_part.h"
#include "models/registry.h"
#include "topology/cgroup.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPositions = 4096, kBytesEach = 2;
// Bytes of a tensor's entry after its name: number of dimensions, up to four dimensions, type and
// offset.
constexpr size_t kBehindName = 4 + 4 * 8 + 4 + 8;

// HeadedFile: a mapping that looks like a whole file of which only the beginning is known. The rest
// is mapped as zeros, which take no memory.
class HeadedFile {
 public:
  HeadedFile(std::span<const std::byte> head, uint64_t size) : size_(size) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    base_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (base_ == MAP_FAILED) {
      fail(ErrorCode::kResource, "cannot reserve {} of address space: {}; check ulimit -v",
           bytes_text(size), std::strerror(errno));
    }
    std::memcpy(base_, head.data(), head.size());
  }
  ~HeadedFile() { munmap(base_, size_); }
  HeadedFile(const HeadedFile&) = delete;
  HeadedFile& operator=(const HeadedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(base_), size_}; }

 private:
  void* base_;
  uint64_t size_;
};

// Whether the first `head` bytes hold the whole header of a file that was parsed. Names are views
// into the file, so the last name's position shows where the header ends.
bool holds_header(const GgufPart& part, std::span<const std::byte> file, size_t head) {
  if (part.tensors.empty()) {
    if (part.metadata.entries().empty()) return false;
    const std::span<const std::byte> last = part.metadata.entries().back().value.payload;
    return last.data() + last.size() <= file.data() + head;
  }
  const std::string_view name = part.tensors.back().name;
  const auto end =
      static_cast<size_t>(name.data() + name.size() - reinterpret_cast<const char*>(file.data()));
  return end + kBehindName <= head;
}

// Returns the bytes of the KV pages for kPositions positions, or for the model's context if that is
// less; 0 where the metadata lack what is needed.
uint64_t kept_bytes(const Metadata& metadata) {
  const auto name = metadata.get<std::string>("general.architecture").value_or("");
  auto number = [&](const char* key) { return metadata.get<uint64_t>(name + key).value_or(0); };
  const uint64_t layers = std::min<uint64_t>(number(".block_count"), 4096);
  const uint64_t heads = number(".attention.head_count");
  uint64_t key = number(".attention.key_length"), value = number(".attention.value_length");
  if (key == 0 && heads != 0) key = number(".embedding_length") / heads;
  if (value == 0) value = key;
  uint64_t columns = 0;
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const auto kept = metadata.of_layer<uint32_t>(name + ".attention.head_count_kv", layer);
    columns += std::min<uint64_t>(kept.value_or(heads), 1u << 20) *
               (std::min<uint64_t>(key, 1u << 20) + std::min<uint64_t>(value, 1u << 20));
  }
  const uint64_t context = number(".context_length");
  return columns * kBytesEach * (context == 0 ? kPositions : std::min(context, kPositions));
}

void check_room(const Metadata& metadata, uint64_t model_bytes, const std::string& name) {
  const uint64_t kept = kept_bytes(metadata), room = memory_room();
  if (room == 0 || model_bytes + kept <= room) return;
  fail(ErrorCode::kResource,
       "'{}' does not fit into this machine's memory: its weights take {} and the KV cache {}, and "
       "{} are available",
       name, bytes_text(model_bytes), bytes_text(kept), bytes_text(room));
}

void check_architecture(const Metadata& metadata, const std::string& name) {
  const auto own = metadata.require<std::string>("general.architecture");
  std::string known;
  for (const Architecture& architecture : all_architectures()) {
    if (own == architecture.name) return;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' has the architecture '{}', which this version cannot run; it runs {}", name, own,
       known);
}

// Parses the header; returns nothing where it is longer than the file's first `head` bytes.
std::optional<GgufPart> read_head(std::span<const std::byte> file, size_t head,
                                  const std::string& name) {
  const bool all = head >= file.size();
  try {
    GgufPart part = read_gguf_part(MappedFile::view(file, name), 0, UnknownTypes::kKeep);
    if (all || holds_header(part, file, head)) return part;
  } catch (const Error& error) {
    if (all || error.code() == ErrorCode::kUnsupported) throw;
  }
  return std::nullopt;
}

// Parses a header that read_head() accepted; throws a TypeError where it has a tensor type that
// this version does not know.
GgufPart read_known_types(std::span<const std::byte> file, const std::string& name) {
  try {
    return read_gguf_part(MappedFile::view(file, name), 0, UnknownTypes::kRefuse);
  } catch (const Error& error) {
    throw TypeError(ErrorCode::kUnsupported, error.what());
  }
}

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "hearth-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      fail(ErrorCode::kFile, "cannot create '{}': {}", path_, std::strerror(errno));
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

}  // namespace

uint64_t memory_room() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t room = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * page : 0;
  const CgroupLimits limits = read_cgroup_limits("/");
  if (limits.memory_limit && (room == 0 || *limits.memory_limit < room)) {
    room = *limits.memory_limit;
  }
  return room;
}

bool check_gguf_head(std::span<const std::byte> head, uint64_t size, uint64_t model_bytes,
                     bool alone, const std::string& name) {
  const HeadedFile file(head, size);
  const std::optional<GgufPart> part = read_head(file.bytes(), head.size(), name);
  if (!part) return false;
  check_architecture(part->metadata, name);
  check_room(read_known_types(file.bytes(), name).metadata, model_bytes, name);
  if (alone) make_spec(parse_gguf(file.bytes(), name));
  return true;
}

bool use_gguf_head(std::span<const std::byte> head, uint64_t size, const std::string& name,
                   const std::function<void(const ModelSpec&)>& use) {
  const HeadedFile file(head, size);
  if (!read_head(file.bytes(), head.size(), name)) return false;
  use(make_spec(parse_gguf(file.bytes(), name)));
  return true;
}

void check_config_head(std::span<const std::byte> config, uint64_t model_bytes,
                       const std::string& name) {
  const TemporaryFolder folder;
  try {
    std::ofstream(folder.path() + "/config.json", std::ios::binary)
        .write(reinterpret_cast<const char*>(config.data()),
               static_cast<std::streamsize>(config.size()));
    const ModelSource shape = open_model_shape(folder.path());
    check_room(shape.metadata(), model_bytes, name);
    make_spec(shape);
  } catch (const Error& error) {
    throw Error(error.code(), replaced(error.what(), folder.path(), name));
  }
}

std::string why_not(const std::string& path, uint64_t bytes) {
  try {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    const ModelSource source = folder ? open_model_shape(path) : open_model_source(path);
    check_architecture(source.metadata(), path);
    check_room(source.metadata(), bytes, path);
    make_spec(source);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace hearth
