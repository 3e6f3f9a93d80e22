// ResponsesNames: translates names of fields in the made chat's body to those in the body of POST
// /v1/responses.
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

  // Adds a field of the chat (and those within it) and its name in the client's body:
  // "tools[0].function", "tools[2]".
  void add(std::string chat, std::string name);

  // Translates a text that begins with a field's name: "tools[0].function.parameters.type is ..."
  // to "tools[2].parameters.type is ...". Other texts stay as they are.
  std::string translated(std::string_view text) const;
  ApiError translated(ApiError error) const;

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace hearth
