// Anthropic's Messages API: POST /v1/messages.
#pragma once

#include <memory>

#include "server/messages_request.h"
#include "server/text_api.h"

namespace hearth {

std::unique_ptr<TextApi> messages_api(MessagesWish wish = MessagesWish::kAnswer);

}  // namespace hearth
