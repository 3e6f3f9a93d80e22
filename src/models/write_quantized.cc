#include "models/write_quantized.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/round_up.h"
#include "formats/source_rows.h"
#include "models/pack_weight.h"
#include "models/shard_tasks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// The approximate bytes of the file that are in memory at a time.
constexpr size_t kPieceBytes = size_t{16} << 20;

// A tensor of the file that is written.
struct WrittenTensor {
  const SourceTensor* from;
  DType type;
  const ImportanceEntry* importance = nullptr;

  uint64_t bytes() const { return from->rows() * row_bytes(type, from->dims[0]); }
  // Returns whether the tensor's bytes are copied from the source unchanged.
  bool is_copy() const { return type == from->dtype && from->runs.empty(); }
};

// Returns the type of a tensor that the policy does not change. `weight` is the weight that the
// tensor becomes, or null.
DType left_type(const SourceTensor& tensor, const WeightSpec* weight) {
  if (weight == nullptr || !weight->is_matrix() || weight->widened) return DType::kF32;
  return tensor.has_codes() || tensor.dtype == DType::kF8E4M3 ? DType::kBF16 : tensor.dtype;
}

std::vector<WrittenTensor> written_tensors(const ModelSource& source, const ModelSpec& spec) {
  std::map<const SourceTensor*, const WeightSpec*> weights;
  for (const WeightSpec& weight : spec.weights) {
    const auto [at, is_new] = weights.emplace(weight.data, &weight);
    if (!is_new && is_made_by_policy(spec, weight)) at->second = &weight;
  }
  std::vector<WrittenTensor> tensors;
  for (const SourceTensor& tensor : source.tensors()) {
    const auto at = weights.find(&tensor);
    const WeightSpec* weight = at == weights.end() ? nullptr : at->second;
    if (weight != nullptr && is_made_by_policy(spec, *weight)) {
      tensors.push_back({&tensor, weight->packed.dtype, weight->importance});
    } else {
      tensors.push_back({&tensor, is_gguf(source) ? tensor.dtype : left_type(tensor, weight)});
    }
  }
  return tensors;
}

// Returns general.file_type of the file: llama.cpp's number for the type of most tensors.
uint32_t file_type_of(DType type) {
  if (type == DType::kQ8_0) return 7;
  if (type == DType::kQ6_K) return 18;
  if (type == DType::kQ5_K) return 16;
  if (type == DType::kQ4_K) return 14;
  return 2;
}

// Sets the metadata keys that describe an importance matrix, as llama.cpp does.
void set_importance_keys(const Importance& importance, GgufWriter* writer) {
  writer->set("quantize.imatrix.file", importance.name());
  if (!importance.dataset().empty()) {
    writer->set("quantize.imatrix.dataset", importance.dataset());
  }
  writer->set("quantize.imatrix.entries_count", static_cast<int32_t>(importance.entries().size()));
  if (importance.chunks() > 0) writer->set("quantize.imatrix.chunks_count", importance.chunks());
}

GgufWriter head_of(const ModelSource& source, const WeightPolicy& policy, const GgufWriter& keys,
                   std::span<const WrittenTensor> tensors) {
  GgufWriter writer;
  for (const MetaEntry& entry : source.metadata().entries()) {
    const bool other = policy.importance && entry.key.starts_with("quantize.imatrix.");
    if (!other && !entry.key.starts_with("split.")) writer.set(entry.key, entry.value);
  }
  writer.set_all(keys);
  writer.set("general.file_type", file_type_of(*policy.type));
  writer.set("general.quantization_version", 2u);
  if (policy.importance) set_importance_keys(*policy.importance, &writer);
  for (const WrittenTensor& tensor : tensors) {
    writer.declare_tensor(tensor.from->name, tensor.from->dims, tensor.type);
  }
  return writer;
}

// Quantises a tensor's rows to the type that is written, some rows (kPieceBytes) at a time.
class Pieces {
 public:
  Pieces(Team& team, const WrittenTensor& tensor)
      : team_(team),
        tensor_(tensor),
        stride_(row_bytes(tensor.type, tensor.from->dims[0])),
        members_(team.size(), 0),
        scratch_(team.size()) {
    const size_t bytes = scratch_bytes(*tensor.from, tensor.type);
    for (auto& own : scratch_) own = std::make_unique_for_overwrite<std::byte[]>(bytes);
    const uint64_t rows = round_up(std::max<uint64_t>(1, kPieceBytes / stride_), kPanelRows);
    piece_.resize(std::min(rows, tensor.from->rows()) * stride_);
  }

  uint64_t max_rows() const { return piece_.size() / stride_; }
  // Returns whether all scales so far were valid.
  bool good() const { return good_.load(std::memory_order_relaxed); }

  std::span<const std::byte> rows(uint64_t first, uint64_t count) {
    const size_t panels = (count + kPanelRows - 1) / kPanelRows;
    run_shard_tasks(team_, members_, {panels}, [&](uint32_t member, size_t, size_t panel) noexcept {
      const uint64_t row = panel * kPanelRows;
      const auto some = static_cast<uint32_t>(std::min<uint64_t>(kPanelRows, count - row));
      PanelRows made;
      if (!panel_rows(*tensor_.from, tensor_.type, first + row, some, scratch_[member].get(), &made,
                      tensor_.importance)) {
        good_.store(false, std::memory_order_relaxed);
      }
      for (uint32_t r = 0; r < some; ++r) {
        std::memcpy(piece_.data() + (row + r) * stride_, made[r], stride_);
      }
    });
    return std::span<const std::byte>(piece_).first(count * stride_);
  }

 private:
  Team& team_;
  const WrittenTensor& tensor_;
  size_t stride_;
  std::vector<uint32_t> members_;  // the shard of each member: 0
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::vector<std::byte> piece_;
  std::atomic<bool> good_{true};
};

// Writes a tensor's rows, and calls did() for each part, with its bytes in the source.
template <typename Did>
void write_rows(const ModelSource& source, const WrittenTensor& tensor, Team& team,
                const WriteBytes& write, const Did& did) {
  Pieces pieces(team, tensor);
  const uint64_t rows = tensor.from->rows();
  for (uint64_t row = 0; row < rows;) {
    const uint64_t count = std::min(pieces.max_rows(), rows - row);
    write(pieces.rows(row, count));
    did(tensor.from->n_bytes() / rows * count);
    row += count;
  }
  if (!pieces.good()) fail_scale(source.name(), tensor.from->name);
}

}  // namespace

bool is_gguf(const ModelSource& source) { return source.format_name() == std::string_view("GGUF"); }

void write_quantized(const ModelSource& source, const ModelSpec& spec, const GgufWriter& keys,
                     Team& team, const WriteBytes& write, const WriteReport& report) {
  const std::vector<WrittenTensor> tensors = written_tensors(source, spec);
  const GgufWriter head = head_of(source, spec.policy, keys, tensors);
  write(head.head());
  uint64_t done = 0, all = 0;
  for (const WrittenTensor& tensor : tensors) all += tensor.from->n_bytes();
  auto did = [&](uint64_t bytes) { report(done += bytes, all); };
  for (const WrittenTensor& tensor : tensors) {
    if (tensor.is_copy()) {
      write(tensor.from->data);
      did(tensor.bytes());
    } else {
      write_rows(source, tensor, team, write, did);
    }
    write(std::vector<std::byte>(round_up(tensor.bytes(), head.alignment()) - tensor.bytes()));
    source.release(*tensor.from);
  }
}

}  // namespace hearth
