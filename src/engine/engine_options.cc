#include "engine/engine_options.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kv_pool.h"
#include "graph/step_view.h"

namespace hearth {

void settle_options(const ModelSpec& spec, EngineOptions* options) {
  if (options->context == 0) options->context = std::min(spec.hyper.context, kDefaultContext);
  if (options->context > kMaxContext) {
    fail_field(ErrorCode::kUsage, "context",
               "of {} is more than the {} positions this program handles", options->context,
               kMaxContext);
  }
  // More rows than the contexts of a step's sequences hold are never used.
  options->items = std::max(1u, options->items);
  uint64_t sequences = spec.has_kv_cache() ? options->sequences : options->items;
  uint64_t most = std::max<uint64_t>(1, sequences * options->context);
  options->prefill_rows =
      static_cast<uint32_t>(std::clamp<uint64_t>(options->prefill_rows, 1, most));
  options->decode_rows = std::min(options->decode_rows, options->prefill_rows);
  options->outputs = std::clamp(options->outputs, 1u, options->prefill_rows);
  options->hidden_rows = std::min(options->hidden_rows, options->prefill_rows);
  uint32_t least = pages_for(options->context);
  if (options->kv_pages != 0 && options->kv_pages < least) {
    fail(ErrorCode::kUsage, "{} KV pages do not hold one context of {}, which takes {}",
         options->kv_pages, options->context, least);
  }
}

}  // namespace hearth
