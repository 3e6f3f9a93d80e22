#include "template/template_import.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "base/utf8.h"
#include "template/template_calls.h"

namespace hearth {
namespace {

class Importer {
 public:
  Importer(TemplateHeap& heap, bool untrusted) : heap_(heap), untrusted_(untrusted) {}

  TemplateValue import(const boost::json::value& json, uint32_t depth = 0) {
    check_value_depth(depth);
    heap_.budget().add_elements(1);
    switch (json.kind()) {
      case boost::json::kind::null: {
        TemplateValue value = none_value();
        value.untrusted = untrusted_;
        return value;
      }
      case boost::json::kind::bool_:
        return bool_value(json.get_bool(), untrusted_);
      case boost::json::kind::int64:
        return int_value(json.get_int64(), untrusted_);
      case boost::json::kind::uint64:
        return import_unsigned(json.get_uint64());
      case boost::json::kind::double_:
        return float_value(json.get_double(), untrusted_);
      case boost::json::kind::string:
        return import_string(json.get_string());
      case boost::json::kind::array: {
        std::vector<TemplateValue> items;
        for (const auto& item : json.get_array()) items.push_back(import(item, depth + 1));
        return make_list(heap_, std::move(items));
      }
      default:
        return import_object(json.get_object(), depth);
    }
  }

 private:
  TemplateValue import_unsigned(uint64_t number) const {
    if (number <= INT64_MAX) return int_value(static_cast<int64_t>(number), untrusted_);
    return float_value(static_cast<double>(number), untrusted_);
  }

  TemplateValue import_string(std::string_view bytes) {
    if (!is_well_formed(bytes)) fault("a string that it is given is not UTF-8");
    TextBuilder builder(heap_.budget());
    builder.append(bytes, untrusted_);
    return string_value(builder.finish());
  }

  TemplateValue import_object(const boost::json::object& object, uint32_t depth) {
    auto& dict = heap_.make<DictObject>();
    for (const auto& member : object) {
      heap_.budget().add_elements(2);
      TemplateValue key = import_string(member.key());
      dict.entries.emplace_back(std::move(key), import(member.value(), depth + 1));
    }
    return object_value(ValueKind::kDict, dict);
  }

  TemplateHeap& heap_;
  bool untrusted_;
};

}  // namespace

TemplateValue import_json(TemplateHeap& heap, const boost::json::value& json, bool untrusted) {
  return Importer(heap, untrusted).import(json);
}

TemplateValue from_json(TemplateHeap& heap, const TemplateValue& subject,
                        const Arguments& arguments) {
  bind_arguments("from_json", arguments, {});
  const Text& text = *require_text("the text that from_json reads", subject);
  // The budget does not count the JSON parser's values. This limit on the text's length limits
  // their memory.
  constexpr size_t kMaxBytes = size_t{4} << 20;
  if (text.bytes().size() > kMaxBytes) {
    fault("from_json is given a text of more than {} MiB", kMaxBytes >> 20);
  }
  heap.budget().mapped(text.bytes().size());
  boost::json::parse_options options;
  options.max_depth = kValueDepth;
  boost::system::error_code error;
  boost::json::value json = boost::json::parse(text.bytes(), error, {}, options);
  if (error) fault("from_json was given a text that is not JSON");
  return import_json(heap, json, text.any_untrusted());
}

}  // namespace hearth
