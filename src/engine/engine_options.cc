#include "engine/engine_options.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kv_pool.h"
#include "graph/step_view.h"

namespace hearth {

void settle_options(const ModelSpec& spec, EngineOptions* options) {
  if (!(options->kv_share >= 0 && options->kv_share <= 1)) {
    fail_field(ErrorCode::kUsage, "kv_share", "is {}; it must lie between 0 and 1",
               options->kv_share);
  }
  if (!(options->state_share >= 0 && options->state_share <= 1)) {
    fail_field(ErrorCode::kUsage, "state_share", "is {}; it must lie between 0 and 1",
               options->state_share);
  }
  if (options->context == 0) {
    bool sized = options->asks_kv_size();
    options->context = std::min(spec.hyper.context, sized ? kMaxContext : kDefaultContext);
    if (sized && options->min_context == 0) options->min_context = 1;
  }
  if (options->min_context == 0) options->min_context = options->context;
  options->min_context = std::min(options->min_context, options->context);
  if (options->context > kMaxContext) {
    fail_field(ErrorCode::kUsage, "context",
               "of {} is longer than the {} tokens this program supports: lower it",
               options->context, kMaxContext);
  }
  if (spec.embedding.positions && options->context > spec.hyper.context) {
    fail_field(ErrorCode::kUsage, "context",
               "of {} is longer than the {} positions that the model has embeddings for: lower it",
               options->context, spec.hyper.context);
  }
  // Limits a step's rows to the positions that all of its sequences' contexts hold.
  options->items = std::max(1u, options->items);
  uint64_t sequences = spec.has_kv_cache() ? options->sequences : options->items;
  uint64_t most = std::max<uint64_t>(1, sequences * options->context);
  options->prefill_rows =
      static_cast<uint32_t>(std::clamp<uint64_t>(options->prefill_rows, 1, most));
  options->decode_rows = std::min(options->decode_rows, options->prefill_rows);
  options->outputs = std::clamp(options->outputs, 1u, options->prefill_rows);
  options->hidden_rows = std::min(options->hidden_rows, options->prefill_rows);
  options->scored_rows =
      spec.is_encoder() ? 0 : std::min(options->scored_rows, options->prefill_rows);
  uint32_t least = pages_for(options->min_context);
  if (options->kv_pages != 0 && options->kv_pages < least) {
    fail_field(ErrorCode::kUsage, "kv_pages",
               "is {}, and one context of {} tokens takes {} pages: raise it or lower the context",
               options->kv_pages, options->min_context, least);
  }
}

}  // namespace hearth
