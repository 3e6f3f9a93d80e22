#include "formats/gguf_part.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "formats/gguf_cursor.h"
#include "formats/gguf_magic.h"
#include "formats/gguf_types.h"

namespace hearth {

namespace {

// The fewest bytes that an entry can have in the file. Keys and tensors have the length of a name
// and one byte of the name. Then a key has a type and one byte of its value, and a tensor the
// number of dimensions, one dimension, a type and an offset.
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
// The specification's limit.
constexpr uint64_t kMaxKeyBytes = 65535;
// The specification wants a multiple of 8; more than a huge page is a corrupt number.
constexpr uint64_t kMinAlignment = 8;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 21;

uint64_t read_count(GgufCursor& cursor, std::string_view what, uint64_t min_bytes) {
  GgufOwner header{"the header"};
  uint64_t count = cursor.read<uint64_t>(header, what);
  // Indices are 32 bits wide: only a file with over 60 GB of names could exceed that.
  if (count > cursor.left() / min_bytes || count > UINT32_MAX) {
    cursor.fail_at(
        "{} is {}, too many for the {} bytes that follow; the file is truncated or corrupt, "
        "download it again",
        what, count, cursor.left());
  }
  return count;
}

std::string_view read_name(GgufCursor& cursor, const GgufOwner& owner) {
  std::string_view name = cursor.read_string(owner, "its name");
  if (name.empty() || name.size() > kMaxKeyBytes) {
    cursor.fail_corrupt(owner, "its name has {} bytes, and 1 to {} are allowed", name.size(),
                        kMaxKeyBytes);
  }
  return name;
}

MetaType read_type(GgufCursor& cursor, const GgufOwner& owner, std::string_view field) {
  uint32_t number = cursor.read<uint32_t>(owner, field);
  if (number >= kMetaTypeCount) {
    cursor.fail_at(
        "{}: {} is {}, and only 0 to {} are defined; the file is corrupt or from a newer format, "
        "download or convert it again",
        owner.text(), field, number, kMetaTypeCount - 1);
  }
  return static_cast<MetaType>(number);
}

void check_bools(const GgufCursor& cursor, const GgufOwner& owner,
                 std::span<const std::byte> bytes) {
  for (std::byte b : bytes) {
    if (b > std::byte{1}) {
      cursor.fail_corrupt(owner, "a bool has the byte {} instead of 0 or 1",
                          std::to_integer<int>(b));
    }
  }
}

MetaValue read_array(GgufCursor& cursor, const GgufOwner& owner) {
  MetaType type = read_type(cursor, owner, "the type of its elements");
  if (type == MetaType::kArray) {
    cursor.fail_at("{}: it is an array of arrays, which is not supported; convert the model again",
                   owner.text());
  }
  uint64_t count = cursor.read<uint64_t>(owner, "the length of its array");
  bool is_string = type == MetaType::kString;
  uint64_t min_bytes = is_string ? sizeof(uint64_t) : meta_type_bytes(type);
  if (count > cursor.left() / min_bytes) {
    cursor.fail_at(
        "{}: its array has the length {}, but only {} bytes follow; the file is truncated or "
        "corrupt, download it again",
        owner.text(), count, cursor.left());
  }
  const std::byte* start = cursor.here();
  if (is_string) {
    for (uint64_t i = 0; i < count; ++i) cursor.read_string(owner, "a string of its array");
  } else {
    cursor.take(count * min_bytes, owner, "its array");
  }
  std::span<const std::byte> payload(start, cursor.here());
  if (type == MetaType::kBool) check_bools(cursor, owner, payload);
  return {MetaType::kArray, type, count, payload};
}

MetaEntry read_entry(GgufCursor& cursor, uint64_t index) {
  std::string_view key = read_name(cursor, {"metadata key number", {}, index});
  GgufOwner owner{"metadata key", key};
  MetaType type = read_type(cursor, owner, "the type of its value");
  if (type == MetaType::kArray) return {key, read_array(cursor, owner)};
  uint64_t length = type == MetaType::kString
                        ? cursor.read<uint64_t>(owner, "the length of its string")
                        : meta_type_bytes(type);
  auto payload = cursor.take(length, owner, "its value");
  if (type == MetaType::kBool) check_bools(cursor, owner, payload);
  return {key, {type, type, 1, payload}};
}

std::vector<uint64_t> read_dims(GgufCursor& cursor, const GgufOwner& owner) {
  uint32_t n_dims = cursor.read<uint32_t>(owner, "the number of dimensions");
  if (n_dims < 1 || n_dims > kGgufMaxDims) {
    cursor.fail_corrupt(owner, "the number of dimensions is {}, and 1 to {} are allowed", n_dims,
                        kGgufMaxDims);
  }
  std::vector<uint64_t> dims(n_dims);
  for (uint64_t& dim : dims) {
    dim = cursor.read<uint64_t>(owner, "one of its dimensions");
    if (dim == 0) {
      cursor.fail_corrupt(owner, "one of its dimensions is 0");
    }
  }
  return dims;
}

uint64_t count_elements(const GgufCursor& cursor, const GgufOwner& owner,
                        const std::vector<uint64_t>& dims) {
  uint64_t product = 1;
  for (uint64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product) || product > INT64_MAX) {
      cursor.fail_at(
          "{}: its dimensions {} multiply to more than 2^63; the file is corrupt, "
          "download it again",
          owner.text(), fmt::join(dims, " x "));
    }
  }
  return product;
}

// A tensor as the header lists it: without `data`, and with an `offset` from the beginning of the
// data section, which is known only at the header's end.
struct ListedTensor {
  SourceTensor tensor = {};
  std::optional<GgufBlock> block = {};  // of the tensor's type
};

ListedTensor read_tensor(GgufCursor& cursor, uint64_t index, uint32_t part, UnknownTypes unknown) {
  ListedTensor listed;
  SourceTensor& tensor = listed.tensor;
  tensor.part = part;
  tensor.name = read_name(cursor, {"tensor number", {}, index});
  GgufOwner owner{"tensor", tensor.name};
  tensor.dims = read_dims(cursor, owner);
  tensor.n_elements = count_elements(cursor, owner, tensor.dims);
  auto type = cursor.read<uint32_t>(owner, "its type");
  tensor.offset = cursor.read<uint64_t>(owner, "its offset");
  std::optional<DType> dtype = dtype_of_gguf(type);
  tensor.type_known = dtype.has_value();
  tensor.type_text = gguf_tensor_type_text(type);
  if (dtype) {
    tensor.dtype = *dtype;
  } else if (unknown == UnknownTypes::kRefuse) {
    cursor.fail_at("{}: {}", owner.text(), gguf_refusal(type));
  }
  listed.block = gguf_block(type);
  if (listed.block && tensor.dims[0] % listed.block->elements != 0) {
    cursor.fail_corrupt(owner,
                        "its rows have {} elements, not a multiple of the {} in a block of {}",
                        tensor.dims[0], listed.block->elements, tensor.type_text);
  }
  return listed;
}

uint64_t read_alignment(const GgufCursor& cursor, const Metadata& metadata) {
  uint64_t alignment = metadata.get<uint64_t>("general.alignment").value_or(kGgufDefaultAlignment);
  if (!std::has_single_bit(alignment) || alignment < kMinAlignment || alignment > kMaxAlignment) {
    cursor.fail_at(
        "metadata key 'general.alignment' is {}, and must be a power of two from {} to {}; the "
        "file is corrupt, download or convert it again",
        alignment, kMinAlignment, kMaxAlignment);
  }
  return alignment;
}

// Throws for a Q2_0 tensor with too few bytes: its type may be another program's Q2_0, and the file
// undamaged. Does nothing for other types.
void refuse_other_q2_0(const GgufCursor& cursor, const SourceTensor& tensor) {
  if (!tensor.type_known || tensor.dtype != DType::kQ2_0) return;
  cursor.fail_at(
      "tensor '{}': it has fewer bytes than q2_0 needs: the file is truncated, or written by "
      "PrismML's llama.cpp, whose q2_0 has blocks of 128 elements and is not supported; download "
      "the model in another type, such as Q4_K_M or IQ4_XS",
      printable(tensor.name));
}

// Turns the offset into one from the beginning of the file and finds the data.
SourceTensor place_tensor(const GgufCursor& cursor, std::span<const std::byte> file,
                          uint64_t data_start, uint64_t alignment, ListedTensor listed) {
  SourceTensor& tensor = listed.tensor;
  GgufOwner owner{"tensor", tensor.name};
  if (tensor.offset % alignment != 0) {
    cursor.fail_corrupt(owner, "its offset {} is not a multiple of the alignment {}", tensor.offset,
                        alignment);
  }
  uint64_t room = file.size() > data_start ? file.size() - data_start : 0;
  // A tensor whose size is unknown has at least one byte, so it cannot begin at the end.
  uint64_t n_bytes = 1;
  bool fits = true;
  if (listed.block) {
    uint64_t blocks = tensor.n_elements / listed.block->elements;
    fits = !__builtin_mul_overflow(blocks, uint64_t{listed.block->bytes}, &n_bytes);
  }
  if (!fits || tensor.offset > room || n_bytes > room - tensor.offset) {
    refuse_other_q2_0(cursor, tensor);
    cursor.fail_at(
        "{}: its {} bytes at offset {} of the data end beyond the file, which has {} "
        "bytes of data; it is truncated or corrupt, download it again",
        owner.text(), fits ? std::to_string(n_bytes) : "more than 2^64", tensor.offset, room);
  }
  tensor.offset += data_start;
  if (listed.block) tensor.data = file.subspan(tensor.offset, n_bytes);
  return std::move(tensor);
}

void check_overlaps(const GgufCursor& cursor, const std::vector<SourceTensor>& tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(tensors[a].offset, a) < std::pair(tensors[b].offset, b);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const SourceTensor& before = tensors[order[i - 1]];
    const SourceTensor& after = tensors[order[i]];
    uint64_t n_bytes = std::max<uint64_t>(before.n_bytes(), 1);
    if (after.offset - before.offset >= n_bytes) continue;
    refuse_other_q2_0(cursor, before);
    cursor.fail_corrupt({"tensor", after.name}, "its data overlaps that of tensor '{}'",
                        printable(before.name));
  }
}

}  // namespace

GgufPart read_gguf_part(MappedFile file, uint32_t part_index, UnknownTypes unknown) {
  uint32_t version = check_gguf_magic(file.bytes(), file.name());
  GgufCursor cursor(file);
  GgufOwner header{"the header"};
  cursor.take(sizeof(uint32_t) * 2, header, "the magic and version");
  uint64_t n_tensors = read_count(cursor, "the number of tensors", kMinTensorBytes);
  uint64_t n_keys = read_count(cursor, "the number of metadata keys", kMinEntryBytes);

  std::vector<MetaEntry> entries;
  for (uint64_t i = 0; i < n_keys; ++i) entries.push_back(read_entry(cursor, i));
  Metadata metadata(file.name(), std::move(entries));
  uint64_t alignment = read_alignment(cursor, metadata);

  std::vector<ListedTensor> listed;
  for (uint64_t i = 0; i < n_tensors; ++i) {
    listed.push_back(read_tensor(cursor, i, part_index, unknown));
  }
  uint64_t data_start = (cursor.at() + alignment - 1) / alignment * alignment;
  std::vector<SourceTensor> tensors;
  for (ListedTensor& tensor : listed) {
    tensors.push_back(place_tensor(cursor, file.bytes(), data_start, alignment, std::move(tensor)));
  }
  check_overlaps(cursor, tensors);
  return {std::move(file), version, alignment, std::move(metadata), std::move(tensors)};
}

}  // namespace hearth
