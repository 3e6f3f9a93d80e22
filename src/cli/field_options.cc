#include "cli/field_options.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hearth {

namespace {

struct FieldOption {
  std::string_view field, option;
};

constexpr FieldOption kOptions[] = {{"choices", "--repeat"},
                                    {"context", "--ctx"},
                                    {"dimensions", "--dimensions"},
                                    {"frequency_penalty", "--frequency-penalty"},
                                    {"kv_bytes", "--kv-cache"},
                                    {"host", "--host"},
                                    {"logit_bias", "--logit-bias"},
                                    {"min_p", "--min-p"},
                                    {"model", "MODEL"},
                                    {"pooling", "--pooling"},
                                    {"pre", "--pre"},
                                    {"presence_penalty", "--presence-penalty"},
                                    {"prompt", "the prompt"},
                                    {"repeat_penalty", "--repeat-penalty"},
                                    {"state_bytes", "--state-cache"},
                                    {"stops", "--stop"},
                                    {"temperature", "--temp"},
                                    {"top_p", "--top-p"}};

}  // namespace

std::string command_line_text(const Error& error) {
  const auto* known =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const FieldOption& option) { return option.field == error.field(); });
  if (known == std::end(kOptions)) return error.what();
  return error.text_naming(known->option);
}

}  // namespace hearth
