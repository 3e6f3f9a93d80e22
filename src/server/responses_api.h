// OpenAI's Responses API: POST /v1/responses.
#pragma once

#include <memory>

#include "server/text_api.h"

namespace hearth {

std::unique_ptr<TextApi> responses_api();

}  // namespace hearth
