// Asks a server which model it has.
#pragma once

#include <functional>
#include <string>

#include "bench/serve_url.h"
#include "http/transport.h"

namespace hearth {

// Asks the server for its models and returns the first one's name. Throws (kResource) where the
// reply has none.
std::string ask_model(Transport& transport, const ServeUrl& url, const std::string& key,
                      const std::function<double()>& clock);

}  // namespace hearth
