// Finds the names that fields of a chat's body have in the body of POST /v1/responses that it was
// made of.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/api_error.h"

namespace hearth {

class ResponsesNames {
 public:
  ResponsesNames();

  // A field of the chat, and those within it: "tools[0].function", "tools[2]".
  void add(std::string chat, std::string name);

  // "tools[2].parameters.type is ..." of "tools[0].function.parameters.type is ...": a text that
  // begins with the name of a field. Others stay as they are.
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace hearth
