#include "server/turn_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/fnv_hash.h"
#include "base/json_reader.h"
#include "server/json_fields.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::string_view kReasoning = "reasoning_content";

std::string text_of(const value& given) {
  return {given.get_string().data(), given.get_string().size()};
}

// Returns a call's arguments as an object, whether given as one or as JSON text; {} where there are
// none.
object read_arguments(const value& given, const std::string& name) {
  if (given.is_object()) return given.get_object();
  const std::string text = text_of(given);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};
  value read;
  try {
    read = read_json(text);
  } catch (const Error& error) {
    throw RequestError(kInvalidValue, name, fmt::format("cannot be read: {}", error.what()));
  }
  if (!read.is_object()) {
    throw RequestError(kInvalidValue, name,
                       fmt::format("is JSON of {}; it must be JSON of an object", kind_text(read)));
  }
  return std::move(read.get_object());
}

class Fitting {
 public:
  explicit Fitting(const TurnFormat* format)
      : history_(format != nullptr ? format->history : HistoryFormat{}) {
    const bool around =
        format != nullptr && format->calls && format->calls->id_place == IdPlace::kAroundName;
    if (around) before_name_ = format->calls->id_begin;
    numbered_ = around;
  }

  void fit(object* message, const std::string& name) {
    if (value* calls = message->if_contains("tool_calls")) {
      boost::json::array& all = calls->get_array();
      for (size_t i = 0; i < all.size(); ++i) {
        fit_call(&all[i].get_object(), entry_name(name + ".tool_calls", i));
      }
    }
    if (message->contains("tool_calls")) fit_content(message);
    if (message->contains("tool_call_id")) fit_result(message);
    fit_reasoning(message);
  }

 private:
  struct Call {
    std::string id, tool;
  };

  void fit_call(object* call, const std::string& name) {
    object& function = call->at("function").get_object();
    value& arguments = function.at("arguments");
    object read = read_arguments(arguments, name + ".function.arguments");
    if (!history_.arguments_as_text) {
      arguments = std::move(read);
    } else if (!arguments.is_string() || arguments.get_string().empty()) {
      arguments = boost::json::serialize(read);
    }
    const std::string id = text_of(call->at("id")), tool = text_of(function.at("name"));
    std::string fitted = fitted_id(id, tool);
    (*call)["id"] = fitted;
    calls_[id] = {std::move(fitted), tool};
    ++count_;
  }

  void fit_content(object* message) const {
    value& content = (*message)["content"];
    const bool none = content.is_string() && content.get_string().empty();
    if (none && history_.null_content) content = nullptr;
  }

  std::string fitted_id(const std::string& id, const std::string& tool) const {
    if (numbered_) {
      const std::string begin = before_name_ + tool + ":";
      const bool fits = id.size() > begin.size() && id.starts_with(begin) &&
                        std::all_of(id.begin() + static_cast<ptrdiff_t>(begin.size()), id.end(),
                                    [](char c) { return is_digit(c); });
      return fits ? id : fmt::format("{}{}", begin, count_);
    }
    const uint32_t length = history_.id_length;
    return length == 0 || is_call_id(id, length) ? id : short_id(id, length);
  }

  void fit_result(object* message) const {
    value& id = message->at("tool_call_id");
    const auto found = calls_.find(text_of(id));
    if (found != calls_.end()) {
      id = found->second.id;
      if (!message->contains("name")) (*message)["name"] = found->second.tool;
    } else if (history_.id_length > 0) {
      id = fitted_id(text_of(id), "");
    }
  }

  void fit_reasoning(object* message) const {
    if (message->at("role") != "assistant" || history_.reasoning_key == kReasoning) return;
    const value* reasoning = message->if_contains(kReasoning);
    if (reasoning == nullptr) return;
    value moved = *reasoning;
    message->erase(kReasoning);
    if (!history_.reasoning_key.empty()) (*message)[history_.reasoning_key] = std::move(moved);
  }

  const HistoryFormat history_;
  bool numbered_ = false;              // the template's ids: the tool's name and the call's number
  std::string before_name_;            // the text before the name in such an id
  std::map<std::string, Call> calls_;  // by the clients' ids
  size_t count_ = 0;
};

}  // namespace

void fit_history(const TurnFormat* format, boost::json::array* messages) {
  Fitting fitting(format);
  for (size_t i = 0; i < messages->size(); ++i) {
    fitting.fit(&(*messages)[i].get_object(), entry_name("messages", i));
  }
}

bool is_call_id(std::string_view id, uint32_t length) {
  return id.size() == length &&
         std::ranges::all_of(id, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string short_id(std::string_view id, uint32_t length) {
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string text;
  FnvHash hash;
  hash.add(id);
  while (text.size() < length) {
    hash.add(uint64_t{text.size()});
    // The low bits of this hash are the least random.
    text += kAlphabet[(hash.value() >> 32) % kAlphabet.size()];
  }
  return text;
}

}  // namespace hearth
