// The rows that tables of families are written with (formats/hf_family.h), each made by a function
// that says what is done: hf::need("hidden_size", "embedding_length", hf::kWidth,
// ModelMost::kWidth).
#pragma once

#include "formats/hf_family.h"

namespace hearth::hf {

using enum HfValue;
using Kind = HfKey::Kind;
using Text = std::string_view;

// A count that config.json must state. It is at most `most`, a number, or with need_up_to() another
// value of the model.
constexpr HfKey need(Text from, const char* to, HfValue keep, uint32_t most) {
  return {Kind::kCount, from, to, keep, most, 1, true};
}
constexpr HfKey need_up_to(Text from, const char* to, HfValue most) {
  HfKey key = need(from, to, kNone, 0);
  key.most_of = most;
  return key;
}
// A count of at least `least`; a missing key sets nothing.
constexpr HfKey count(Text from, const char* to, HfValue keep, uint32_t most, uint32_t least = 1) {
  return {Kind::kCount, from, to, keep, most, least};
}
constexpr HfKey count_or(Text from, const char* to, HfValue keep, uint32_t most, uint32_t other) {
  return {Kind::kCount, from, to, keep, most, other == 0 ? 0u : 1u, false, other};
}
constexpr HfKey count_or(Text from, const char* to, HfValue keep, uint32_t most, HfValue other) {
  return {Kind::kCount, from, to, keep, most, 1, false, std::nullopt, other};
}
constexpr HfKey real(Text from, const char* to, std::optional<double> otherwise = std::nullopt) {
  return {Kind::kReal, from, to, kNone, 0, 1, false, otherwise};
}
constexpr HfKey flag(Text from, const char* to, HfValue keep, bool otherwise) {
  return {Kind::kFlag, from, to, keep, 0, 1, false, otherwise};
}
// A string that stands for a number; a missing key sets nothing if `otherwise` is null.
constexpr HfKey choice(Text from, const char* to, HfValue keep, std::span<const HfChoice> choices,
                       const char* otherwise) {
  return {Kind::kChoice, from, to, keep, 0, 1, false, std::nullopt, kNone, otherwise, choices};
}
// Gives the key a second name, which has precedence if the file has it.
constexpr HfKey also_named(Text name, HfKey key) {
  key.other_from = name;
  return key;
}

// A key that must have this value, if it is there.
constexpr HfKey must_be(Text from, const char* text) {
  return {Kind::kMustText, from, nullptr, kNone, 0, 1, false, std::nullopt, kNone, text};
}
constexpr HfKey must_be(Text from, bool flag) {
  return {Kind::kMustFlag, from, nullptr, kNone, 0, 1, false, flag};
}
constexpr HfKey must_be(Text from, double number) {
  return {Kind::kMustReal, from, nullptr, kNone, 0, 1, false, number};
}
constexpr HfKey with_known(const char* known, HfKey key) {
  key.known = known;
  return key;
}
constexpr HfKey must_count(Text from, uint32_t number, const char* known) {
  return with_known(
      known, {Kind::kMustCount, from, nullptr, kNone, ModelMost::kLayers, number, false, number});
}
constexpr HfKey must_lack(Text from, const char* known) {
  return with_known(known, {Kind::kMustLack, from});
}
constexpr HfKey must_be_empty(Text from, const char* known) {
  return with_known(known, {Kind::kMustEmpty, from});
}
// The number of leading dense layers: first_k_dense_replace, or counted in mlp_layer_types.
constexpr HfKey dense_layers(uint32_t otherwise) {
  HfKey key =
      count_or("first_k_dense_replace", "leading_dense_block_count", kDenseLayers, 0, otherwise);
  key.kind = Kind::kLeadingDense;
  key.most_of = kLayers;
  return key;
}
constexpr HfKey no_dense_layers(const char* known) {
  return with_known(known, {Kind::kNoneDense, "mlp_layer_types"});
}

// A number that every model of the family has, or that follows from earlier keys.
constexpr HfKey say(const char* to, uint32_t number, HfValue keep = kNone) {
  return {Kind::kSayCount, {}, to, keep, 0, 1, false, number};
}
constexpr HfKey say(const char* to, HfValue value, HfValue keep = kNone) {
  return {Kind::kSayCount, {}, to, keep, 0, 1, false, std::nullopt, value};
}
constexpr HfKey say(const char* to, bool flag) {
  return {Kind::kSayFlag, {}, to, kNone, 0, 1, false, flag};
}

// A vector of every layer, such as a norm.
constexpr HfTensor vector(Text from, Text to, HfValue length) {
  return {HfScope::kLayer, HfKind::kPlain, from, to, length};
}
// A matrix of every layer: matrix() is FP8 in FP8 models, table() never is.
constexpr HfTensor matrix(Text from, Text to, HfValue rows, HfValue columns, HfValue bias = kNone,
                          HfKind kind = HfKind::kPlain) {
  return {HfScope::kLayer, kind, from, to, rows, columns, true, bias};
}
constexpr HfTensor table(Text from, Text to, HfValue rows, HfValue columns) {
  return {HfScope::kLayer, HfKind::kPlain, from, to, rows, columns};
}
// A tensor of every layer whose shape config.json does not tell.
constexpr HfTensor in_layer(Text from, Text to, HfKind kind = HfKind::kPlain) {
  return {HfScope::kLayer, kind, from, to};
}
// A tensor of the model: of_model() is named behind its prefix, at_top() without one.
constexpr HfTensor of_model(Text from, Text to, HfValue rows = kNone, HfValue columns = kNone,
                            HfKind kind = HfKind::kPlain) {
  return {HfScope::kModel, kind, from, to, rows, columns};
}
constexpr HfTensor at_top(Text from, Text to, HfValue rows = kNone, HfValue columns = kNone) {
  return {HfScope::kTop, HfKind::kPlain, from, to, rows, columns};
}
// Restrict the row to models that have `when`, or to some layers.
constexpr HfTensor where(HfValue when, HfTensor row) {
  row.when = when;
  return row;
}
constexpr HfTensor in_layers(HfLayers layers, HfTensor row) {
  row.layers = layers;
  return row;
}

// The keys of a reranker.
inline constexpr HfKey kRankKeys[] = {say(nullptr, gguf_number(PoolingType::kRank), kPooling)};

}  // namespace hearth::hf
