#include "formats/hf_tensors.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/hf_names.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

constexpr std::string_view kScales = "_scale_inv";

// A tensor of a file.
struct Stored {
  const SafeTensor* tensor;
  uint32_t part;
  bool used = false;  // of scales
};

class Maker {
 public:
  Maker(const HfConfig& config, const std::vector<MappedFile>& files, const std::string& name,
        UnknownTypes unknown)
      : config_(config), files_(files), name_(name), unknown_(unknown) {}

  void index(const SafeTensor& tensor, uint32_t part) {
    auto [at, added] = by_name_.insert({tensor.name, {&tensor, part}});
    if (added) return;
    fail_tensor(tensor.name, "stands in '{}' and '{}'", files_[at->second.part].name(),
                files_[part].name());
  }

  HfTensors make(const std::vector<std::vector<SafeTensor>>& stored) {
    for (size_t part = 0; part < stored.size(); ++part) {
      for (const SafeTensor& tensor : stored[part]) index(tensor, static_cast<uint32_t>(part));
    }
    for (const auto& of_part : stored) {
      for (const SafeTensor& tensor : of_part) {
        if (!tensor.name.ends_with(kScales)) add(tensor);
      }
    }
    check_scales_used();
    add_frequencies();
    note_skipped();
    note_headless();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail_tensor(std::string_view tensor, fmt::format_string<Args...> format,
                                Args&&... args) const {
    fail(ErrorCode::kFile, "'{}': tensor '{}' {}; the model is damaged, download it again", name_,
         printable(tensor), fmt::format(format, std::forward<Args>(args)...));
  }

  const SafeTensor* find(const std::string& name) const {
    auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : at->second.tensor;
  }

  void add(const SafeTensor& tensor) {
    const HfName what = config_.encoder ? parse_hf_encoder_name(tensor.name)
                                        : parse_hf_name(tensor.name, config_.architecture);
    if (what.kind == HfName::Kind::kFrequencies) return;
    if (what.kind == HfName::Kind::kLeftOut) {
      ++left_out_;
      return;
    }
    if (what.layer && *what.layer >= config_.layers) return skip(tensor, *what.layer);
    // Some files hold the head once more.
    if (config_.tied && what.gguf == "output.weight") return;
    check_type(tensor);
    switch (what.kind) {
      case HfName::Kind::kLatentPair:
        return add_latent(tensor, *what.layer);
      case HfName::Kind::kExpert:
        return add_expert(tensor, what);
      case HfName::Kind::kQueryOrKey:
        if (config_.halves) return add_halves(tensor, what);
        return add_plain(tensor, what.gguf);
      case HfName::Kind::kPositions:
        return add_rows(tensor, what.gguf, config_.positions_first, config_.context,
                        uint64_t{config_.positions_first} + config_.context);
      case HfName::Kind::kGateAndUp:
        return add_gate_and_up(tensor, what.gguf, /*gate_first=*/true);
      case HfName::Kind::kUpAndGate:
        return add_gate_and_up(tensor, what.gguf, /*gate_first=*/false);
      default:
        return add_plain(tensor, what.kind == HfName::Kind::kPlain ? what.gguf : tensor.name);
    }
  }

  // Layers behind the model's own.
  void skip(const SafeTensor& tensor, uint32_t layer) {
    if (layer - config_.layers >= config_.predict_layers) {
      fail_tensor(tensor.name,
                  "is of layer {}, but config.json says num_hidden_layers = {} and {} "
                  "of multi-token prediction",
                  layer, config_.layers, config_.predict_layers);
    }
    ++skipped_[layer];
    auto scales = by_name_.find(tensor.name + std::string(kScales));
    if (scales != by_name_.end()) scales->second.used = true;
  }

  void check_type(const SafeTensor& tensor) const {
    if (tensor.elements == 0) fail_tensor(tensor.name, "has no elements");
    if (tensor.dtype || unknown_ == UnknownTypes::kKeep) return;
    fail(ErrorCode::kFile,
         "'{}': tensor '{}' is stored as {}, and this program reads only F32, F16, BF16 and "
         "F8_E4M3; use the model in one of these types",
         name_, printable(tensor.name), tensor.type);
  }

  std::span<const std::byte> bytes_of(const SafeTensor& tensor, uint32_t part) const {
    return files_[part].bytes().subspan(tensor.offset, tensor.bytes);
  }

  // Without data and runs.
  SourceTensor& push(const SafeTensor& like, std::string name, std::vector<uint64_t> dims) {
    const uint32_t part = by_name_.find(like.name)->second.part;
    SourceTensor tensor = {};
    tensor.name = out_.names.emplace_back(std::move(name));
    tensor.type_known = like.dtype.has_value();
    if (like.dtype) tensor.dtype = *like.dtype;
    tensor.type_text = like.dtype ? dtype_info(*like.dtype).name : like.type;
    tensor.n_elements = 1;
    for (uint64_t dim : dims) tensor.n_elements *= dim;
    tensor.dims = std::move(dims);
    tensor.part = part;
    tensor.offset = like.offset;
    return out_.tensors.emplace_back(std::move(tensor));
  }

  // The matrix as it lies in its file, with its scales.
  SourceRun run_of(const SafeTensor& tensor) {
    if (tensor.shape.size() != 2) fail_tensor(tensor.name, "is no matrix");
    const uint32_t part = by_name_.find(tensor.name)->second.part;
    SourceRun run = {};
    run.stored = {*tensor.dtype, tensor.shape[0], tensor.shape[1], bytes_of(tensor, part),
                  part,          tensor.offset};
    if (tensor.dtype == DType::kF8E4M3) run.scales = scales_of(tensor);
    return run;
  }

  StoredMatrix scales_of(const SafeTensor& tensor) {
    auto at = by_name_.find(tensor.name + std::string(kScales));
    if (at == by_name_.end()) {
      fail_tensor(tensor.name, "is F8_E4M3, but its scales '{}{}' are missing", tensor.name,
                  kScales);
    }
    const SafeTensor& scales = *at->second.tensor;
    at->second.used = true;
    auto blocks = [](uint64_t n) { return n / kFp8ScaleBlock + (n % kFp8ScaleBlock != 0); };
    const std::vector<uint64_t> wanted = {blocks(tensor.shape[0]), blocks(tensor.shape[1])};
    if (scales.shape != wanted) {
      fail_tensor(scales.name, "is {}, where {} scales of 128 x 128 elements are needed",
                  fmt::join(scales.shape, " x "), fmt::join(wanted, " x "));
    }
    if (!scales.dtype || scales.dtype == DType::kF8E4M3) {
      fail_tensor(scales.name, "is stored as {}, where F32, BF16 or F16 is needed", scales.type);
    }
    return {*scales.dtype,   wanted[0],    wanted[1], bytes_of(scales, at->second.part),
            at->second.part, scales.offset};
  }

  void add_plain(const SafeTensor& tensor, const std::string& name) {
    std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    if (dims.empty()) dims = {1};
    SourceTensor& made = push(tensor, name, std::move(dims));
    if (!tensor.dtype) return;
    if (tensor.dtype == DType::kF8E4M3) {
      made.runs.push_back(run_of(tensor));
    } else {
      made.data = bytes_of(tensor, made.part);
    }
  }

  // Rows (of a bias, elements) of a tensor that has `least` at least.
  void add_rows(const SafeTensor& tensor, const std::string& name, uint64_t first, uint64_t rows,
                uint64_t least) {
    if (!tensor.dtype || tensor.dtype == DType::kF8E4M3) return add_plain(tensor, name);
    if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.shape[0] < least) {
      fail_tensor(tensor.name, "is {}, where config.json calls for {} rows",
                  fmt::join(tensor.shape, " x "), least);
    }
    std::vector<uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    dims.back() = rows;
    SourceTensor& made = push(tensor, name, std::move(dims));
    const uint64_t row = tensor.bytes / tensor.shape[0];
    made.data = bytes_of(tensor, made.part).subspan(first * row, rows * row);
    made.offset += first * row;
  }

  void add_gate_and_up(const SafeTensor& tensor, const std::string& up, bool gate_first) {
    const uint64_t rows = config_.ffn, all = 2 * rows;
    if (!tensor.shape.empty() && tensor.shape[0] != all) {
      fail_tensor(tensor.name, "is {}, where config.json calls for {} rows",
                  fmt::join(tensor.shape, " x "), all);
    }
    std::string gate = up;
    constexpr std::string_view kUp = "ffn_up";
    gate.replace(gate.find(kUp), kUp.size(), "ffn_gate");
    add_rows(tensor, gate, gate_first ? 0 : rows, rows, all);
    add_rows(tensor, up, gate_first ? rows : 0, rows, all);
  }

  // Q or K of llama: each head's rows.
  void add_halves(const SafeTensor& tensor, const HfName& what) {
    const uint64_t heads = what.keys ? config_.kv_heads : config_.heads;
    const uint64_t length = config_.head_length;
    if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.shape[0] != heads * length ||
        length % 2 != 0) {
      fail_tensor(tensor.name, "is {}, where config.json calls for {} heads of {} rows",
                  fmt::join(tensor.shape, " x "), heads, length);
    }
    if (!tensor.dtype || tensor.shape.size() == 1) return add_halved_bias(tensor, what.gguf);
    SourceTensor& made = push(tensor, what.gguf, {tensor.shape[1], tensor.shape[0]});
    SourceRun run = run_of(tensor);
    run.interleave = 2;
    for (uint64_t head = 0; head < heads; ++head) {
      run.first = head * length;
      made.runs.push_back(run);
    }
  }

  // A vector is small, and read whole: it is copied in the order that is wanted.
  void add_halved_bias(const SafeTensor& tensor, const std::string& name) {
    if (!tensor.dtype || tensor.dtype == DType::kF8E4M3) return add_plain(tensor, name);
    SourceTensor& made = push(tensor, name, {tensor.shape[0]});
    const std::span<const std::byte> from = bytes_of(tensor, made.part);
    const size_t size = dtype_info(made.dtype).block_bytes, half = config_.head_length / 2;
    std::vector<std::byte>& copy = out_.data.emplace_back(from.size());
    for (size_t i = 0; i < tensor.shape[0]; ++i) {
      const size_t head = i / (2 * half) * 2 * half, r = i % (2 * half);
      std::memcpy(copy.data() + i * size, from.data() + (head + r % 2 * half + r / 2) * size, size);
    }
    made.data = copy;
    made.part = kNoPart;
  }

  // kv_b_proj: for every head the rows of its keys without position, then those of its values.
  void add_latent(const SafeTensor& tensor, uint32_t layer) {
    if (!config_.latent || !tensor.dtype) return add_plain(tensor, tensor.name);
    const HfLatent& latent = *config_.latent;
    const uint64_t head_rows = uint64_t{latent.nope_length} + latent.value_length;
    const std::vector<uint64_t> wanted = {config_.heads * head_rows, latent.rank};
    if (tensor.shape != wanted) {
      fail_tensor(tensor.name, "is {}, but config.json calls for {}",
                  fmt::join(tensor.shape, " x "), fmt::join(wanted, " x "));
    }
    SourceRun run = run_of(tensor);
    std::vector<SourceRun> keys, values;
    for (uint64_t head = 0; head < config_.heads; ++head) {
      run.first = head * head_rows;
      run.transposed = true;
      keys.push_back(run);
      run.first += latent.nope_length;
      run.transposed = false;
      values.push_back(run);
    }
    push(tensor, fmt::format("blk.{}.attn_k_b.weight", layer),
         {latent.nope_length, latent.rank, config_.heads})
        .runs = std::move(keys);
    push(tensor, fmt::format("blk.{}.attn_v_b.weight", layer),
         {latent.rank, latent.value_length, config_.heads})
        .runs = std::move(values);
  }

  // All experts of the layer, when the first in the files is met.
  void add_expert(const SafeTensor& tensor, const HfName& what) {
    if (what.expert >= config_.experts) {
      fail_tensor(tensor.name, "is of an expert beyond the {} of config.json", config_.experts);
    }
    if (!tensor.dtype) return add_plain(tensor, tensor.name);
    if (!experts_.insert({what.gguf, true}).second) return;
    const SourceRun one = run_of(tensor);
    std::vector<SourceRun> runs;
    const std::string number = fmt::format(".experts.{}.", what.expert);
    const size_t at = tensor.name.find(number);
    for (uint32_t e = 0; e < config_.experts; ++e) {
      std::string name = tensor.name;
      name.replace(at, number.size(), fmt::format(".experts.{}.", e));
      const SafeTensor* expert = find(name);
      if (expert == nullptr) {
        fail_tensor(name, "is missing, one of {} experts", config_.experts);
      }
      if (expert->shape != tensor.shape || expert->dtype != tensor.dtype) {
        fail_tensor(name, "has another shape or type than that of expert {}", what.expert);
      }
      runs.push_back(run_of(*expert));
    }
    push(tensor, what.gguf, {one.stored.k, one.stored.rows, config_.experts}).runs =
        std::move(runs);
    SourceTensor& made = out_.tensors.back();
    made.part = made.runs[0].stored.part;
    made.offset = made.runs[0].stored.offset;
  }

  void check_scales_used() const {
    for (const auto& [name, stored] : by_name_) {
      if (!name.ends_with(kScales) || stored.used) continue;
      fail_tensor(name, "holds scales of a tensor that is not F8_E4M3, or is missing");
    }
  }

  void add_frequencies() {
    if (config_.rope_factors.empty()) return;
    const auto bytes = std::as_bytes(std::span(config_.rope_factors));
    SourceTensor made = {};
    made.name = out_.names.emplace_back("rope_freqs.weight");
    made.dtype = DType::kF32;
    made.type_known = true;
    made.type_text = "f32";
    made.dims = {config_.rope_factors.size()};
    made.n_elements = config_.rope_factors.size();
    made.data = out_.data.emplace_back(bytes.begin(), bytes.end());
    made.part = kNoPart;
    out_.tensors.push_back(std::move(made));
  }

  void note_skipped() {
    if (left_out_ > 0) {
      out_.notes.push_back(fmt::format(
          "{} tensors of a pooler or of a head for pre-training are left out: vectors need none",
          left_out_));
    }
    for (const auto& [layer, tensors] : skipped_) {
      out_.notes.push_back(fmt::format(
          "layer {} is for multi-token prediction and is left out, {} tensors", layer, tensors));
    }
  }

  // The table gives logits then, for which it was not made.
  void note_headless() {
    const bool head = std::ranges::any_of(
        out_.tensors, [](const SourceTensor& tensor) { return tensor.name == "output.weight"; });
    if (head || config_.tied) return;
    out_.notes.emplace_back(
        "there is no lm_head, and config.json does not tie it to the embeddings: the model gives "
        "vectors, and its text would be wrong");
  }

  const HfConfig& config_;
  const std::vector<MappedFile>& files_;
  const std::string& name_;
  const UnknownTypes unknown_;
  std::map<std::string, Stored, std::less<>> by_name_;
  std::map<std::string, bool> experts_;
  std::map<uint32_t, size_t> skipped_;
  size_t left_out_ = 0;
  HfTensors out_;
};

}  // namespace

HfTensors make_hf_tensors(const HfConfig& config, const std::vector<MappedFile>& files,
                          const std::vector<std::vector<SafeTensor>>& stored,
                          const std::string& name, UnknownTypes unknown) {
  return Maker(config, files, name, unknown).make(stored);
}

}  // namespace hearth
