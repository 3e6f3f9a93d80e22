#include "models/encoder.h"

#include "tensor/pack_spec.h"

namespace hearth {
namespace {

constexpr uint32_t kMostTokenTypes = 1u << 16;

void refuse_reranker(const SpecBuilder& m) {
  if (m.hyper().pooling != PoolingType::kRank && !m.has("cls.weight")) return;
  fail(ErrorCode::kUnsupported,
       "'{}' is a reranker, which scores pairs of texts: this version runs encoders that give "
       "vectors",
       m.source().name());
}

// The table's first row is of the only type that occurs. One row may have one dimension.
WeightId make_type(SpecBuilder& m) {
  constexpr const char* kName = "token_types.weight";
  if (!m.has(kName)) return {};
  const SourceTensor& table = m.source().require_tensor(kName);
  const uint64_t rows = table.dims.size() == 1 ? 1 : table.dims[1];
  const uint64_t said =
      m.source().metadata().get<uint32_t>("tokenizer.ggml.token_type_count").value_or(rows);
  if (table.dims.size() > 2 || rows > kMostTokenTypes || rows != said) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {}, where a row for each of {} token types is needed: the file is "
         "damaged or its metadata was edited",
         m.source().name(), kName, fmt::join(table.dims, " x "), said);
  }
  return m.vector_part(-1, "type", kName, m.hyper().width, 0, {m.hyper().width, rows});
}

WeightId make_positions(SpecBuilder& m) {
  const uint32_t rows = m.hyper().context;
  return m.matrix(-1,
                  {.member = "positions",
                   .name = "position_embd.weight",
                   .rows = rows,
                   .k = m.hyper().width,
                   .axis = m.axis({.name = "positions", .items = rows, .unit_items = kPanelRows})});
}

}  // namespace

void make_encoder_start(SpecBuilder& m, PositionTable positions) {
  refuse_reranker(m);
  make_token_table(m);
  m.embedding().type = make_type(m);
  if (positions == PositionTable::kLearned) m.embedding().positions = make_positions(m);
  m.embedding().norm = m.norm(-1, NormKind::kLayer, "norm", "token_embd_norm", m.hyper().width);
}

}  // namespace hearth
