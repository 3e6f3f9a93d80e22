#include "bench/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "graph/op_work.h"
#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

constexpr std::string_view kTable = "token_embd.weight", kHead = "output.weight";

// Tables that are read with the configuration, not by a step.
bool is_frequencies(std::string_view name) {
  return name == "rope_freqs.weight" || name.find("attn_rot_embd") != std::string_view::npos;
}

UnitOps matrix_ops(const GgufTensor& tensor, const UnitSet& units) {
  UnitOps ops{};
  if (tensor.dims.size() < 2) return ops;
  Unit unit = unit_for(act_format_for(pack_kind_for(tensor.dtype)), units);
  ops[static_cast<size_t>(unit)] = 2.0 * static_cast<double>(tensor.n_elements);
  return ops;
}

void add(UnitOps* sum, const UnitOps& ops, double times) {
  for (size_t i = 0; i < kUnits; ++i) (*sum)[i] += times * ops[i];
}

}  // namespace

std::vector<BenchCase> bench_cases(const BenchLists& lists) {
  std::vector<BenchCase> cases;
  for (uint32_t depth : lists.depths) {
    for (uint32_t tokens : lists.prefill) {
      if (tokens > 0) cases.push_back({Phase::kPrefill, tokens, 1, depth});
    }
    for (uint32_t tokens : lists.decode) {
      for (uint32_t sequences : lists.sequences) {
        if (tokens > 0) cases.push_back({Phase::kDecode, tokens, sequences, depth});
      }
    }
  }
  return cases;
}

std::string case_text(const BenchCase& what) {
  std::string text = fmt::format("{} {}", phase_name(what.phase), what.tokens);
  if (what.sequences > 1) text += fmt::format(" x {} sequences", what.sequences);
  if (what.depth > 0) text += fmt::format(" at depth {}", what.depth);
  return text;
}

Unit ModelWork::unit() const {
  UnitOps ops = body_ops;
  add(&ops, head_ops, 1);
  return static_cast<Unit>(std::max_element(ops.begin(), ops.end()) - ops.begin());
}

ModelWork count_model(const GgufFile& file, const DecoderConfig& config, KvType kv_type,
                      const UnitSet& units) {
  ModelWork work;
  bool tied = file.find_tensor(kHead) == nullptr;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name == (tied ? kTable : kHead)) {
      work.head_bytes = tensor.n_bytes();
      work.head_ops = matrix_ops(tensor, units);
    } else if (tensor.name == kTable) {
      work.table_row_bytes = tensor.n_bytes() / tensor.rows();
    } else if (!is_frequencies(tensor.name)) {
      work.body_bytes += tensor.n_bytes();
      add(&work.body_ops, matrix_ops(tensor, units), 1);
    }
  }
  work.pair_ops = 4.0 * config.layers * config.heads * config.head_dim;
  work.attention_unit = unit_for(kv_type, units);
  work.position_bytes = uint64_t{config.layers} * config.kv_heads * 2 *
                        kv_half_bytes(kv_type, config.head_dim) / kPagePositions;
  work.window = config.window;
  return work;
}

double CaseWork::ops() const {
  return std::accumulate(gemm_ops.begin(), gemm_ops.end(), attention_ops);
}

CaseWork count_case(const ModelWork& model, const BenchCase& what) {
  CaseWork work;
  bool decode = what.phase == Phase::kDecode;
  auto tokens = static_cast<double>(what.all_tokens());
  uint64_t pairs = what.sequences * visible(what.depth, what.tokens, model.window).pairs;
  add(&work.gemm_ops, model.body_ops, tokens);
  add(&work.gemm_ops, model.head_ops, decode ? tokens : what.sequences);
  work.attention_ops = static_cast<double>(pairs) * model.pair_ops;
  work.attention_unit = model.attention_unit;
  if (decode && what.tokens > 0) {
    work.steps = what.tokens;
    work.weight_bytes =
        model.body_bytes + model.head_bytes + what.sequences * model.table_row_bytes;
    work.kv_bytes = pairs * model.position_bytes / what.tokens;
  }
  return work;
}

}  // namespace hearth
