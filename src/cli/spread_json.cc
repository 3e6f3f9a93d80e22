#include "cli/spread_json.h"

namespace hearth {

void add_spread(Json& json, const char* key, const Spread& spread) {
  json.key(key).object().key("median").real(spread.median);
  json.key("min").real(spread.least).key("max").real(spread.most);
  json.key("relative").real(spread.relative()).end_object();
}

}  // namespace hearth
