#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// Makes a table with a row for every token.
WeightId make_table(SpecBuilder& m, const char* member, const char* name) {
  const uint32_t tokens = m.hyper().vocabulary;
  const AxisId axis = m.axis({.name = "vocabulary", .items = tokens, .unit_items = kPanelRows});
  m.set_vocabulary_axis(axis);
  return m.matrix(
      -1, {.member = member, .name = name, .rows = tokens, .k = m.hyper().width, .axis = axis});
}

// Returns which of a reranker's two rows stands for "yes", by classifier.output_labels.
uint32_t read_yes(const SpecBuilder& m, uint64_t rows) {
  const std::string key = m.keys().prefix() + "classifier.output_labels";
  const auto labels =
      m.source().metadata().get<std::vector<std::string>>(key).value_or(std::vector<std::string>());
  if (rows == 2 && labels == std::vector<std::string>{"yes", "no"}) return 0;
  if (rows == 2 && labels == std::vector<std::string>{"no", "yes"}) return 1;
  fail(ErrorCode::kUnsupported,
       "'{}' is a classifier with {} classes ({} {}): this version runs only rerankers, whose head "
       "gives one score, or scores of yes and no",
       m.source().name(), rows, key, fmt::join(labels, ", "));
}

}  // namespace

void make_score_head(SpecBuilder& m) {
  constexpr const char *kDense = "cls.weight", *kOut = "cls.output.weight";
  if (!m.has(kDense) && !m.has(kOut)) return;
  const uint32_t width = m.hyper().width;
  const bool has_out = m.has(kOut);
  // A tensor of one row that stands alone is the output layer, whatever its name.
  const bool dense = m.has(kDense) && (has_out || m.rows_of(kDense) != 1);
  if (dense && !has_out) {
    fail(ErrorCode::kFile,
         "'{}' has {} but no {}, and a reranker needs both; convert the model again",
         m.source().name(), kDense, kOut);
  }
  const char* out = has_out ? "cls.output" : "cls";
  const uint64_t rows = m.rows_of(has_out ? kOut : kDense);
  ScoreBlock score;
  if (rows != 1) score.yes = read_yes(m, rows);
  score.out_rows = static_cast<uint32_t>(rows);
  if (dense) {
    score.dense = m.replicated_linear(
        -1, {.member = "score_dense", .name = "cls", .rows = width, .k = width});
  }
  score.out =
      m.replicated_linear(-1, {.member = "score", .name = out, .rows = score.out_rows, .k = width});
  m.set_score(score);
}

void make_token_table(SpecBuilder& m) {
  m.embedding().token = make_table(m, "embedding", "token_embd.weight");
}

void make_decoder(SpecBuilder& m, const std::function<void(uint32_t layer)>& make_layer,
                  const char* last_norm) {
  make_token_table(m);
  constexpr const char* kHead = "output.weight";
  const WeightId head = m.has(kHead) ? make_table(m, "head", kHead) : m.embedding().token;
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) make_layer(layer);
  m.set_last_norm(m.norm(-1, NormKind::kRms, "norm", last_norm, m.hyper().width));
  m.set_head(head);
  make_score_head(m);
}

}  // namespace hearth
