#include "models/write_quantized.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/round_up.h"
#include "formats/gguf_writer.h"
#include "formats/source_rows.h"
#include "models/shard_tasks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// About as much of the file is in memory at a time.
constexpr size_t kPieceBytes = size_t{16} << 20;

// What tensors become, by one of the weights that are made of each.
using MadeTensors = std::map<const SourceTensor*, const WeightSpec*>;

MadeTensors made_tensors(const ModelSpec& spec) {
  MadeTensors made;
  for (const WeightSpec& weight : spec.weights) {
    if (is_made_by_policy(weight)) made.emplace(weight.data, &weight);
  }
  return made;
}

// The number by which llama.cpp tells of most of a file's tensors (general.file_type).
uint32_t file_type_of(DType type) {
  if (type == DType::kQ8_0) return 7;
  if (type == DType::kQ6_K) return 18;
  if (type == DType::kQ5_K) return 16;
  if (type == DType::kQ4_K) return 14;
  return 2;
}

// Tells of an importance matrix as llama.cpp does.
void set_importance_keys(const Importance& importance, GgufWriter* writer) {
  writer->set("quantize.imatrix.file", importance.name());
  if (!importance.dataset().empty()) {
    writer->set("quantize.imatrix.dataset", importance.dataset());
  }
  writer->set("quantize.imatrix.entries_count", static_cast<int32_t>(importance.entries().size()));
  if (importance.chunks() > 0) writer->set("quantize.imatrix.chunks_count", importance.chunks());
}

GgufWriter head_of(const ModelSource& source, const MadeTensors& made, const WeightPolicy& policy) {
  GgufWriter writer;
  for (const MetaEntry& entry : source.metadata().entries()) {
    const bool other = policy.importance && entry.key.starts_with("quantize.imatrix.");
    if (!other && !entry.key.starts_with("split.")) writer.set(entry.key, entry.value);
  }
  writer.set("general.file_type", file_type_of(*policy.type));
  writer.set("general.quantization_version", 2u);
  if (policy.importance) set_importance_keys(*policy.importance, &writer);
  for (const SourceTensor& tensor : source.tensors()) {
    const auto at = made.find(&tensor);
    writer.declare_tensor(tensor.name, tensor.dims,
                          at == made.end() ? tensor.dtype : at->second->packed.dtype);
  }
  return writer;
}

// Quantises rows of a weight's tensor, a piece at a time.
class Pieces {
 public:
  Pieces(Team& team, const WeightSpec& weight)
      : team_(team),
        weight_(weight),
        tensor_(*weight.data),
        stride_(row_bytes(weight.packed.dtype, tensor_.dims[0])),
        members_(team.size(), 0),
        scratch_(team.size()) {
    for (auto& own : scratch_) {
      own =
          std::make_unique_for_overwrite<std::byte[]>(scratch_bytes(tensor_, weight.packed.dtype));
    }
    const uint64_t rows = round_up(std::max<uint64_t>(1, kPieceBytes / stride_), kPanelRows);
    piece_.resize(std::min(rows, tensor_.rows()) * stride_);
  }

  uint64_t most_rows() const { return piece_.size() / stride_; }

  std::span<const std::byte> rows(uint64_t first, uint64_t count) {
    const size_t panels = (count + kPanelRows - 1) / kPanelRows;
    run_shard_tasks(team_, members_, {panels}, [&](uint32_t member, size_t, size_t panel) noexcept {
      const uint64_t row = panel * kPanelRows;
      const auto some = static_cast<uint32_t>(std::min<uint64_t>(kPanelRows, count - row));
      PanelRows made;
      panel_rows(tensor_, weight_.packed.dtype, first + row, some, scratch_[member].get(), &made,
                 weight_.importance);
      for (uint32_t r = 0; r < some; ++r) {
        std::memcpy(piece_.data() + (row + r) * stride_, made[r], stride_);
      }
    });
    return std::span<const std::byte>(piece_).first(count * stride_);
  }

 private:
  Team& team_;
  const WeightSpec& weight_;
  const SourceTensor& tensor_;
  size_t stride_;
  std::vector<uint32_t> members_;  // all of one shard
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::vector<std::byte> piece_;
};

}  // namespace

void require_gguf(const ModelSource& source) {
  if (std::string_view(source.format_name()) == "GGUF") return;
  fail(ErrorCode::kUnsupported,
       "'{}' is no GGUF file, and its vocabulary has a form that no metadata of GGUF says: convert "
       "the folder to a GGUF file of BF16 first, or load it with --weights",
       source.name());
}

void write_quantized(const ModelSource& source, const ModelSpec& spec, const WeightPolicy& policy,
                     Team& team, const WriteBytes& write, const WriteReport& report) {
  require_gguf(source);
  const MadeTensors made = made_tensors(spec);
  const GgufWriter head = head_of(source, made, policy);
  write(head.head());
  uint64_t done = 0, all = 0;
  for (const SourceTensor& tensor : source.tensors()) all += tensor.data.size();
  for (const SourceTensor& tensor : source.tensors()) {
    const auto at = made.find(&tensor);
    uint64_t size = tensor.data.size();
    if (at == made.end()) {
      write(tensor.data);
      report(done += size, all);
    } else {
      Pieces pieces(team, *at->second);
      const uint64_t rows = tensor.rows();
      for (uint64_t row = 0; row < rows;) {
        const uint64_t count = std::min(pieces.most_rows(), rows - row);
        write(pieces.rows(row, count));
        report(done += tensor.data.size() / rows * count, all);
        row += count;
      }
      size = rows * row_bytes(at->second->packed.dtype, tensor.dims[0]);
    }
    write(std::vector<std::byte>(round_up(size, head.alignment()) - size));
    source.release(tensor);
  }
}

}  // namespace hearth
