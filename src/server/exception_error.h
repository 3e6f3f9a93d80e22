// Turns exceptions thrown while a request was served into the errors that clients get. Also errors
// that several routes share.
#pragma once

#include <exception>
#include <string>

#include "base/shortage.h"
#include "http/api_error.h"
#include "http/exchange.h"

namespace hearth {

// Returns the error that a client gets. A RequestError holds its own. Other Errors become 400 for a
// request that cannot be served, 429 for one that came too early, 503 for lack of resources. Memory
// that ran out becomes 503, any other exception 500.
ApiError api_error_of(const std::exception& error);

// Calls `fail`, which takes an ApiError, with api_error_of(error). If memory ran out, during that
// call or before, calls exchange.fall_short() instead.
template <typename Fail>
void answer_failure(const std::exception& error, Exchange& exchange, Fail fail) noexcept {
  if (is_shortage(error)) return exchange.fall_short();
  try {
    fail(api_error_of(error));
  } catch (const std::exception&) {
    exchange.fall_short();
  }
}

// Returns the error 404: this server's model is `own`, not `asked`.
ApiError no_such_model(const std::string& asked, const std::string& own);

}  // namespace hearth
