#include "models/hyper_parameters.h"

#include <iterator>

namespace hearth {
namespace {

// Subtracts layers that predict several tokens, which stand behind the others and are counted with
// them.
void skip_prediction_layers(const ModelKeys& keys, HyperParameters* hyper) {
  const uint32_t skipped = keys.number_or("nextn_predict_layers", 0);
  if (skipped >= hyper->layers) {
    keys.refuse("nextn_predict_layers", skipped,
                fmt::format("less than the {} layers", hyper->layers));
  }
  hyper->skipped_layers = skipped;
  hyper->layers -= skipped;
}

uint32_t read_vocabulary(const ModelSource& source) {
  const SourceTensor& table = source.require_tensor("token_embd.weight");
  if (table.dims.size() == 2 && table.dims[1] <= ModelMost::kVocabulary) {
    return static_cast<uint32_t>(table.dims[1]);
  }
  fail(ErrorCode::kFile,
       "'{}': tensor token_embd.weight is not a matrix with a row for each token: the file is "
       "damaged, download it again",
       source.name());
}

PoolingType read_pooling(const ModelKeys& keys) {
  constexpr auto kLast = static_cast<uint32_t>(PoolingType::kRank);
  const uint32_t pooling = keys.number_or("pooling_type", 0);
  if (pooling > kLast) keys.refuse("pooling_type", pooling, fmt::format("0 to {}", kLast));
  return static_cast<PoolingType>(pooling);
}

}  // namespace

const char* pooling_name(PoolingType pooling) {
  constexpr const char* kNames[] = {"none", "mean", "cls", "last", "rank"};
  static_assert(std::size(kNames) == static_cast<size_t>(PoolingType::kRank) + 1);
  return kNames[static_cast<size_t>(pooling)];
}

HyperParameters read_hyper_parameters(const ModelKeys& keys) {
  HyperParameters hyper;
  hyper.layers = keys.count("block_count", ModelMost::kLayers);
  skip_prediction_layers(keys, &hyper);
  hyper.width = keys.count("embedding_length", ModelMost::kWidth);
  hyper.context = keys.count("context_length", ModelMost::kContext);
  hyper.vocabulary = read_vocabulary(keys.source());
  hyper.pooling = read_pooling(keys);
  return hyper;
}

}  // namespace hearth
