// The errors that clients get for exceptions thrown while their requests were served, and those
// that several routes share.
#pragma once

#include <exception>
#include <string>

#include "base/shortage.h"
#include "http/api_error.h"
#include "http/exchange.h"

namespace hearth {

// RequestError says it itself; of the other Errors, requests that cannot be are 400, those that
// came at a bad time 429; memory that ran out is 503. All else is 500.
ApiError api_error_of(const std::exception& error);

// Tells `fail`, a function of an ApiError, what was thrown. Where memory ran out, if only for that,
// the exchange falls short instead.
template <typename Fail>
void tell_failure(const std::exception& error, Exchange& exchange, Fail fail) noexcept {
  if (is_shortage(error)) return exchange.fall_short();
  try {
    fail(api_error_of(error));
  } catch (const std::exception&) {
    exchange.fall_short();
  }
}

// 404: the server has the model `own`.
ApiError no_such_model(const std::string& asked, const std::string& own);

}  // namespace hearth
