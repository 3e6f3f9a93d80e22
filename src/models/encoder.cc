#include "models/encoder.h"

#include "tensor/pack_spec.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxTokenTypes = 1u << 16;

// Makes the two token types from the first two rows of token_types, since no token has another
// type. A table of one row may be stored with one dimension.
void make_types(SpecBuilder& m) {
  constexpr const char* kName = "token_types.weight";
  if (!m.has(kName)) return;
  const SourceTensor& table = m.source().require_tensor(kName);
  const uint64_t rows = table.dims.size() == 1 ? 1 : table.dims[1];
  const uint64_t said =
      m.source().metadata().get<uint32_t>("tokenizer.ggml.token_type_count").value_or(rows);
  if (table.dims.size() > 2 || rows > kMaxTokenTypes || rows != said) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {}, but must have one row for each of the {} token types: the file is "
         "damaged or its metadata was edited",
         m.source().name(), kName, fmt::join(table.dims, " x "), said);
  }
  const uint32_t width = m.hyper().width;
  m.embedding().type = m.vector_part(-1, "type", kName, width, 0, {width, rows});
  if (rows < 2) return;
  m.embedding().second_type = m.vector_part(-1, "second_type", kName, width, width, {width, rows});
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
  make_token_table(m);
  make_types(m);
  if (positions == PositionTable::kLearned) m.embedding().positions = make_positions(m);
  m.embedding().norm = m.norm(-1, NormKind::kLayer, "norm", "token_embd_norm", m.hyper().width);
  make_score_head(m);
}

}  // namespace hearth
