// Anthropic's Messages API: POST /v1/messages.
#pragma once

#include <memory>

#include "server/text_api.h"

namespace hearth {

std::unique_ptr<TextApi> messages_api();

}  // namespace hearth
