#include "server/model_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/exception_error.h"
#include "server/json_fields.h"

namespace hearth {

void ModelOrder::begin() {
  auto read = [this] {
    const boost::json::object body = read_object(exchange().request().body, depth_);
    order(text_field(require_field(body, "model", "model"), "model"));
    reply_with(std::make_unique<MadeBody>("{\"success\":true}\n"), Outcome::kOk);
  };
  on_worker(read, exchange().request().body.size());
}

void ModelOrder::order(const std::string& name) const {
  const bool loads = exchange().request().path.ends_with("/load");
  if (std::ranges::find(fixed_, name) != fixed_.end()) {
    if (loads) return;
    throw RequestError({400,
                        "",
                        "model_stays",
                        fmt::format("'{}' cannot be unloaded on this server: to unload models, "
                                    "start it with several models, --models or --ttl",
                                    name),
                        "model",
                        {}});
  }
  if (set_ == nullptr) {
    throw RequestError(no_such_model(name, fmt::format("{}", fmt::join(fixed_, "' and '"))));
  }
  const std::optional<ApiError> error = loads ? set_->load(name) : set_->unload(name);
  if (error) throw RequestError(*error);
}

}  // namespace hearth
