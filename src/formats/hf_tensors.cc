#include "formats/hf_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/printable.h"
#include "formats/code_packs.h"
#include "formats/hf_delta.h"
#include "formats/hf_experts.h"
#include "formats/hf_made.h"
#include "formats/hf_names.h"
#include "formats/hf_stored.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

constexpr std::string_view kHeadName = "output.weight";

class Maker {
 public:
  Maker(const HfConfig& config, HfStored& stored, const std::string& name, UnknownTypes unknown)
      : config_(config),
        stored_(stored),
        unknown_(unknown),
        made_{config, stored, name},
        experts_(made_) {}

  HfTensors make(const std::vector<std::vector<SafeTensor>>& tensors) {
    for (const auto& of_part : tensors) {
      for (const SafeTensor& tensor : of_part) {
        if (const SafeTensor* whole = stored_.whole(tensor)) add(*whole);
      }
    }
    stored_.check_parts_used();
    add_frequencies();
    note_floats();
    note_skipped();
    note_headless();
    return std::move(made_.out);
  }

 private:
  void add(const SafeTensor& tensor) {
    const HfName what = parse_hf_name(tensor.name, *config_.family);
    if (what.left_out != nullptr) {
      ++left_out_[what.left_out];
      stored_.leave_scales(tensor);
      return;
    }
    if (what.kind() == HfKind::kIgnored) return;
    if (what.layer && *what.layer >= config_[HfValue::kLayers]) return skip(tensor, *what.layer);
    // Some files hold a tied head as well as the table; the head is not used.
    if (config_[HfValue::kTied] != 0 && what.gguf == kHeadName) return stored_.leave_scales(tensor);
    check_type(tensor);
    if (config_.family->norms_plus_one && what.gguf.ends_with("norm.weight") &&
        !what.gguf.ends_with("ssm_norm.weight")) {
      return add_plus_one(tensor, what.gguf);
    }
    add_as(what, tensor);
  }

  void add_as(const HfName& what, const SafeTensor& tensor) {
    switch (what.kind()) {
      case HfKind::kLatentPair:
        return add_latent(tensor, *what.layer);
      case HfKind::kExpert:
        return experts_.add_expert(tensor, what);
      case HfKind::kQueries:
      case HfKind::kKeys:
        if (config_.family->halves) return add_halves(tensor, what);
        return made_.add_plain(tensor, what.gguf);
      case HfKind::kPositions: {
        const uint64_t first = config_[HfValue::kFirstPosition], rows = config_[HfValue::kContext];
        return add_rows(tensor, what.gguf, first, rows, first + rows);
      }
      case HfKind::kGateAndUp:
      case HfKind::kUpAndGate:
        return add_gate_and_up(tensor, what.gguf, what.kind() == HfKind::kGateAndUp);
      case HfKind::kExpertStack:
        return experts_.add_stack(tensor, what.gguf, 0, 1);
      case HfKind::kExpertMatrices:
        return experts_.add_matrices(tensor, what.gguf);
      case HfKind::kExpertPairs:
        experts_.add_stack(tensor, gate_of(what.gguf), 0, 2);
        return experts_.add_stack(tensor, what.gguf, 1, 2);
      case HfKind::kConvolution:
        return add_heads(tensor, what.gguf, {1, {0}});
      case HfKind::kDeltaMixed:
      case HfKind::kDeltaConv:
        return add_heads(tensor, what.gguf, mixed_heads(config_),
                         what.kind() == HfKind::kDeltaConv);
      case HfKind::kDeltaRows:
      case HfKind::kDeltaVector:
        return add_heads(tensor, what.gguf, value_heads(config_));
      case HfKind::kDeltaDecay:
        return add_decay(tensor, what.gguf);
      case HfKind::kDeltaOutput:
        return add_dealt(tensor, what.gguf);
      case HfKind::kDeltaJoined:
        add_heads(tensor, what.gguf, joined_heads(config_));
        return add_heads(tensor, fmt::format("blk.{}.attn_gate.weight", *what.layer),
                         joined_gates(config_));
      default:
        return made_.add_plain(tensor, what.row != nullptr ? what.gguf : tensor.name);
    }
  }

  // Skips a tensor of a layer of multi-token prediction; throws for a layer beyond those layers.
  void skip(const SafeTensor& tensor, uint32_t layer) {
    const uint64_t layers = config_[HfValue::kLayers], more = config_[HfValue::kPredictLayers];
    if (layer - layers >= more) {
      stored_.fail_tensor(tensor.name,
                          "belongs to layer {}, but config.json has num_hidden_layers = {} and {} "
                          "for multi-token prediction",
                          layer, layers, more);
    }
    ++skipped_[layer];
    stored_.leave_scales(tensor);
  }

  void check_type(const SafeTensor& tensor) const {
    if (tensor.elements == 0) stored_.fail_tensor(tensor.name, "has no elements");
    if (tensor.dtype || unknown_ == UnknownTypes::kKeep) return;
    if (stored_.codes_of(tensor) != nullptr) return;
    fail(ErrorCode::kFile,
         "'{}': tensor '{}' is stored as {}, and this program reads only F32, F16, BF16 and "
         "F8_E4M3: download the model in one of these types",
         made_.name, printable(tensor.name), tensor.type);
  }

  // Adds `rows` rows (of a bias, elements) from `first` on of a tensor that must have at least
  // `least` rows.
  void add_rows(const SafeTensor& tensor, const std::string& name, uint64_t first, uint64_t rows,
                uint64_t least) {
    if (!tensor.dtype || tensor.dtype == DType::kF8E4M3) return made_.add_plain(tensor, name);
    if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.shape[0] < least) {
      stored_.fail_tensor(tensor.name, "is {}, but config.json requires {} rows",
                          fmt::join(tensor.shape, " x "), least);
    }
    std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    dims.back() = rows;
    SourceTensor& made = made_.push(tensor, name, std::move(dims));
    const uint64_t row = tensor.bytes / tensor.shape[0];
    made.data = stored_.bytes_of(tensor).subspan(first * row, rows * row);
    made.offset += first * row;
  }

  static std::string gate_of(std::string up) {
    constexpr std::string_view kUp = "ffn_up";
    return up.replace(up.find(kUp), kUp.size(), "ffn_gate");
  }

  void add_gate_and_up(const SafeTensor& tensor, const std::string& up, bool gate_first) {
    const uint64_t rows = config_[HfValue::kFfn], all = 2 * rows;
    if (!tensor.shape.empty() && tensor.shape[0] != all) {
      stored_.fail_tensor(tensor.name, "is {}, but config.json requires {} rows",
                          fmt::join(tensor.shape, " x "), all);
    }
    add_rows(tensor, gate_of(up), gate_first ? 0 : rows, rows, all);
    add_rows(tensor, up, gate_first ? rows : 0, rows, all);
  }

  // Adds queries or keys of llama, whose heads' rows are stored as two halves.
  void add_halves(const SafeTensor& tensor, const HfName& what) {
    const bool keys = what.kind() == HfKind::kKeys;
    const uint64_t heads = config_[keys ? HfValue::kKvHeads : HfValue::kHeads];
    const uint64_t length = config_[HfValue::kHeadLength];
    if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.shape[0] != heads * length ||
        length % 2 != 0) {
      stored_.fail_tensor(tensor.name, "is {}, but config.json requires {} heads of {} rows",
                          fmt::join(tensor.shape, " x "), heads, length);
    }
    if (!made_.has_rows(tensor) || tensor.shape.size() == 1)
      return add_halved_bias(tensor, what.gguf);
    SourceTensor& made = made_.push(tensor, what.gguf, {tensor.shape[1], tensor.shape[0]});
    SourceRun run = stored_.run_of(tensor);
    run.interleave = 2;
    for (uint64_t head = 0; head < heads; ++head) {
      run.first = head * length;
      made.runs.push_back(run);
    }
  }

  // Adds an interleaved copy of a bias whose heads' elements are stored as two halves.
  void add_halved_bias(const SafeTensor& tensor, const std::string& name) {
    if (!tensor.dtype || tensor.dtype == DType::kF8E4M3) return made_.add_plain(tensor, name);
    SourceTensor& made = made_.push(tensor, name, {tensor.shape[0]});
    const std::span<const std::byte> from = stored_.bytes_of(tensor);
    const size_t size = dtype_info(made.dtype).block_bytes,
                 half = config_[HfValue::kHeadLength] / 2;
    std::vector<std::byte> copy(from.size());
    for (size_t i = 0; i < tensor.shape[0]; ++i) {
      const size_t head = i / (2 * half) * 2 * half, r = i % (2 * half);
      std::memcpy(copy.data() + i * size, from.data() + (head + r % 2 * half + r / 2) * size, size);
    }
    made_.set_copy(made, std::move(copy));
  }

  // Adds a copy of a norm's weights plus one.
  void add_plus_one(const SafeTensor& tensor, const std::string& name) {
    if (!tensor.dtype) return made_.add_plain(tensor, name);
    if (tensor.shape.size() != 1 || tensor.dtype == DType::kF8E4M3) {
      stored_.fail_tensor(tensor.name, "is not a vector of F32, F16 or BF16");
    }
    SourceTensor& made = made_.push(tensor, name, {tensor.shape[0]});
    std::vector<float> values(tensor.shape[0]);
    dequantize_row(*tensor.dtype, stored_.bytes_of(tensor).data(), values.size(), values.data());
    for (float& value : values) value += 1;
    made_.set_f32(made, values);
  }

  // Adds the heads of a tensor of a delta rule, which all have equally many rows. The convolution's
  // weights may have a dimension of 1 between channels and taps. With `copied` the data is copied,
  // as for these weights and for vectors, which are small.
  void add_heads(const SafeTensor& tensor, const std::string& name, const HfHeads& heads,
                 bool copied = false) {
    if (!made_.has_rows(tensor)) return made_.add_plain(tensor, name);
    std::vector<uint64_t> shape = tensor.shape;
    if (shape.size() == 3 && shape[1] == 1) shape.erase(shape.begin() + 1);
    if (shape.empty() || shape.size() > 2 || shape[0] % heads.stored != 0) {
      stored_.fail_tensor(
          tensor.name,
          "is {}, but must be a vector or a matrix whose rows are a multiple of the "
          "{} heads in config.json",
          fmt::join(tensor.shape, " x "), heads.stored);
    }
    const uint64_t rows = shape[0] / heads.stored;
    std::vector<uint64_t> dims(shape.rbegin(), shape.rend());
    dims.back() = rows * heads.taken.size();
    const bool matrix = tensor.shape.size() == 2 && !copied;
    if (matrix && heads.as_stored()) return made_.add_plain(tensor, name);
    if (!matrix && (!tensor.dtype || tensor.dtype == DType::kF8E4M3)) {
      stored_.fail_tensor(tensor.name, "is stored as {} instead of floats", tensor.type);
    }
    SourceTensor& made = made_.push(tensor, name, std::move(dims));
    if (!matrix) return made_.set_copy(made, copied_heads(heads, stored_.bytes_of(tensor)));
    SourceRun run = stored_.run_of(tensor);
    for (uint64_t head : heads.taken) {
      run.first = head * rows;
      made.runs.push_back(run);
    }
  }

  // Adds -e^x for every head's stored logarithm x.
  void add_decay(const SafeTensor& tensor, const std::string& name) {
    add_heads(tensor, name, value_heads(config_), true);
    SourceTensor& made = made_.out.tensors.back();
    if (!tensor.dtype) return;
    std::vector<float> values(made.n_elements);
    dequantize_row(*tensor.dtype, made.data.data(), values.size(), values.data());
    for (float& value : values) value = static_cast<float>(-std::exp(double{value}));
    made_.set_f32(made, values);
  }

  void add_dealt(const SafeTensor& tensor, const std::string& name) {
    const DealtColumns dealt = value_columns(config_);
    if (dealt.length == 0 || !made_.has_rows(tensor)) return made_.add_plain(tensor, name);
    const uint64_t columns = config_[HfValue::kDeltaValueRows];
    if (tensor.shape.size() != 2 || tensor.shape[1] != columns) {
      stored_.fail_tensor(tensor.name, "is {}, but config.json requires {} columns",
                          fmt::join(tensor.shape, " x "), columns);
    }
    SourceTensor& made = made_.push(tensor, name, {tensor.shape[1], tensor.shape[0]});
    made.runs.push_back(stored_.run_of(tensor));
    made.dealt = dealt;
  }

  // Adds kv_b_proj, which has for every head the rows of its keys' nope part, then those of its
  // values.
  void add_latent(const SafeTensor& tensor, uint32_t layer) {
    if (!made_.has_rows(tensor)) return made_.add_plain(tensor, tensor.name);
    const uint64_t heads = config_[HfValue::kHeads], rank = config_[HfValue::kKvLoraRank];
    const uint64_t nope = config_[HfValue::kNopeLength], value = config_[HfValue::kValueLength];
    const std::vector<uint64_t> wanted = {heads * (nope + value), rank};
    if (tensor.shape != wanted) {
      stored_.fail_tensor(tensor.name, "is {}, but config.json requires {}",
                          fmt::join(tensor.shape, " x "), fmt::join(wanted, " x "));
    }
    SourceRun run = stored_.run_of(tensor);
    std::vector<SourceRun> keys, values;
    for (uint64_t head = 0; head < heads; ++head) {
      run.first = head * (nope + value);
      run.transposed = true;
      keys.push_back(run);
      run.first += nope;
      run.transposed = false;
      values.push_back(run);
    }
    made_.push(tensor, fmt::format("blk.{}.attn_k_b.weight", layer), {nope, rank, heads}).runs =
        std::move(keys);
    made_.push(tensor, fmt::format("blk.{}.attn_v_b.weight", layer), {rank, value, heads}).runs =
        std::move(values);
  }

  void add_frequencies() {
    if (config_.rope_factors.empty()) return;
    SourceTensor made = {};
    made.name = made_.out.names.emplace_back("rope_freqs.weight");
    made.dims = {config_.rope_factors.size()};
    made.n_elements = config_.rope_factors.size();
    made_.set_f32(made, config_.rope_factors);
    made_.out.tensors.push_back(std::move(made));
  }

  // Notes which codes no pack takes, so that they are read as floats, and why.
  void note_floats() {
    std::map<std::pair<std::string, std::string_view>, std::pair<size_t, uint64_t>> as_floats;
    for (const SourceTensor& tensor : made_.out.tensors) {
      const char* reason = tensor.has_codes() ? reason_for_floats(tensor) : nullptr;
      if (reason == nullptr) continue;
      auto& [tensors, bytes] = as_floats[{tensor.type_text, reason}];
      ++tensors;
      bytes += tensor.n_elements * sizeof(float);
    }
    for (const auto& [what, count] : as_floats) {
      made_.out.notes.push_back(
          fmt::format("{} tensors of {} become F32, which takes {} of memory and is slow: {}",
                      count.first, what.first, bytes_text(count.second), what.second));
    }
  }

  void note_skipped() {
    for (const auto& [what, tensors] : left_out_) {
      made_.out.notes.push_back(fmt::format("{} tensors {}", tensors, what->note));
    }
    for (const auto& [layer, tensors] : skipped_) {
      made_.out.notes.push_back(fmt::format(
          "layer {} is for multi-token prediction and is ignored, {} tensors", layer, tensors));
    }
    if (stored_.unused() == 0) return;
    made_.out.notes.push_back(fmt::format(
        "{} scales of activations, or of cached keys and values, are not used", stored_.unused()));
  }

  // Notes that the embedding table gives logits, for which it was not made, since the model has no
  // head.
  void note_headless() {
    const bool head = std::ranges::any_of(
        made_.out.tensors, [](const SourceTensor& tensor) { return tensor.name == kHeadName; });
    if (head || config_[HfValue::kTied] != 0) return;
    made_.out.notes.emplace_back(
        "there is no lm_head, and config.json does not tie it to the embeddings: use this model "
        "only for embeddings, as its text would be wrong");
  }

  const HfConfig& config_;
  HfStored& stored_;
  const UnknownTypes unknown_;
  HfMade made_;
  HfExperts experts_;
  std::map<uint32_t, size_t> skipped_;
  std::map<const HfLeftOut*, size_t> left_out_;
};

}  // namespace

HfTensors make_hf_tensors(const HfConfig& config, const std::vector<MappedFile>& files,
                          const std::vector<std::vector<SafeTensor>>& stored,
                          const std::string& name, UnknownTypes unknown) {
  std::deque<StoredCodes> codes;
  HfStored by_name(files, stored, name, config.quant, &codes);
  HfTensors made = Maker(config, by_name, name, unknown).make(stored);
  made.codes = std::move(codes);
  return made;
}

}  // namespace hearth
