// The methods of strings, lists and mappings that templates may call.
#include <algorithm>

#include "template/template_calls.h"
#include "template/template_lexer.h"
#include "template/template_ops.h"

namespace hearth {
namespace {

bool given(const std::optional<TemplateValue>& value) {
  return value && !value->is(ValueKind::kNone);
}

class Method {
 public:
  Method(TemplateHeap& heap, const FunctionObject& function, const Arguments& arguments)
      : heap_(heap),
        budget_(heap.budget()),
        name_(function.name),
        self_(function.self),
        arguments_(arguments) {}

  TemplateValue call() {
    if (self_.is_string()) return call_string();
    if (self_.is(ValueKind::kDict)) return call_dict();
    if (self_.is(ValueKind::kList)) return call_list();
    unsupported();
  }

 private:
  [[noreturn]] void unsupported() const {
    fault("the method '{}' of a {} is not supported", name_, type_name(self_));
  }

  BoundArguments bind(std::initializer_list<std::string_view> names, size_t required = 0) const {
    return bind_arguments(name_ + "()", arguments_, names, required);
  }

  const Text& text() const { return *self_.text; }

  // Escapes text that is joined to a string made by `safe`.
  TextRef like_self(TextRef other) const {
    return text().markup() ? escape_markup(budget_, other) : std::move(other);
  }

  TemplateValue call_string() {
    if (name_ == "strip" || name_ == "lstrip" || name_ == "rstrip") return strip();
    if (name_ == "split") return split();
    if (name_ == "splitlines") return lines();
    if (name_ == "startswith") return bool_value(matches(true));
    if (name_ == "endswith") return bool_value(matches(false));
    if (name_ == "replace") return replace();
    if (name_ == "upper" || name_ == "lower" || name_ == "capitalize") return change_case();
    if (name_ == "find" || name_ == "count") return search();
    if (name_ == "removeprefix" || name_ == "removesuffix") return remove();
    if (name_ == "join") {
      BoundArguments bound = bind({"/iterable"}, 1);
      if (text().markup()) unsupported();
      require_iterable(*bound[0]);
      return join_values(heap_, text(), values_of(heap_, *bound[0]), true);
    }
    unsupported();
  }

  static void require_iterable(const TemplateValue& value) {
    if (!is_iterable(value)) fault("a {} cannot be looped over", type_name(value));
  }

  TemplateValue strip() {
    BoundArguments bound = bind({"/chars"});
    const Text* characters = given(bound[0]) ? require_text("chars", *bound[0]).get() : nullptr;
    TextRef escaped = characters == nullptr ? nullptr : like_self(bound[0]->text);
    return strip_text(budget_, text(), escaped.get(), name_ != "rstrip", name_ != "lstrip");
  }

  TemplateValue split() {
    BoundArguments bound = bind({"sep", "maxsplit"});
    int64_t most = bound[1] ? require_whole("maxsplit", *bound[1]) : -1;
    if (most < 0) most = INT64_MAX;
    if (!given(bound[0])) return split_at_space(most);
    const TextRef& separator = require_text("sep", *bound[0]);
    if (separator->bytes().empty()) fault("split() is given an empty separator");
    std::vector<TemplateValue> parts;
    size_t done = 0;
    for (; most > 0; --most) {
      size_t at = find_text(budget_, text().bytes(), separator->bytes(), done);
      if (at == std::string_view::npos) break;
      parts.push_back(part(done, at));
      done = at + separator->bytes().size();
    }
    parts.push_back(part(done, text().bytes().size()));
    return make_list(heap_, std::move(parts));
  }

  TemplateValue part(size_t begin, size_t end) {
    budget_.add_elements(1);
    TextBuilder builder(budget_);
    builder.append(text(), begin, end);
    return string_value(builder.finish(text().markup()));
  }

  TemplateValue split_at_space(int64_t most) {
    std::string_view bytes = text().bytes();
    budget_.mapped(bytes.size());
    std::vector<TemplateValue> parts;
    size_t at = leading_space(bytes);
    while (at < bytes.size()) {
      size_t end = at;
      while (end < bytes.size() &&
             leading_space(bytes.substr(end, character_bytes(bytes[end]))) == 0) {
        end += character_bytes(bytes[end]);
      }
      if (most-- == 0) end = bytes.size() - trailing_space(bytes);
      parts.push_back(part(at, end));
      at = end + leading_space(bytes.substr(end));
    }
    return make_list(heap_, std::move(parts));
  }

  TemplateValue lines() {
    BoundArguments bound = bind({"keepends"});
    if (bound[0] && is_truthy(*bound[0])) fault("splitlines() with keepends is not supported");
    std::vector<TemplateValue> values;
    for (TextRef& line : split_lines(budget_, text())) {
      values.push_back(string_value(std::move(line)));
    }
    return make_list(heap_, std::move(values));
  }

  bool matches(bool start) {
    BoundArguments bound = bind({"/prefix", "/start", "/end"}, 1);
    std::string_view bytes = text().bytes();
    if (given(bound[1]) || given(bound[2])) fault("{}() with bounds is not supported", name_);
    std::vector<TemplateValue> wanted = {*bound[0]};
    if (bound[0]->is(ValueKind::kTuple)) wanted = bound[0]->as<ListObject>().items;
    for (const TemplateValue& one : wanted) {
      std::string_view other = require_text(name_ + "()'s argument", one)->bytes();
      budget_.copied(other.size());
      if (start ? bytes.starts_with(other) : bytes.ends_with(other)) return true;
    }
    return false;
  }

  TemplateValue replace() {
    BoundArguments bound = bind({"/old", "/new", "/count"}, 2);
    TextRef old = like_self(require_text("replace()'s argument", *bound[0]));
    TextRef by = like_self(require_text("replace()'s argument", *bound[1]));
    int64_t most = bound[2] ? require_whole("replace()'s count", *bound[2]) : -1;
    return replace_text(budget_, text(), *old, *by, most);
  }

  TemplateValue change_case() {
    bind({});
    return map_case(budget_, self_.text,
                    name_ == "upper"   ? CaseMapping::kUpper
                    : name_ == "lower" ? CaseMapping::kLower
                                       : CaseMapping::kCapitalize);
  }

  TemplateValue search() {
    BoundArguments bound = bind({"/sub", "/start", "/end"}, 1);
    if (given(bound[1]) || given(bound[2])) fault("{}() with bounds is not supported", name_);
    std::string_view other = require_text(name_ + "()'s argument", *bound[0])->bytes();
    std::string_view bytes = text().bytes();
    if (name_ == "find") {
      size_t at = find_text(budget_, bytes, other);
      bool found = at != std::string_view::npos;
      return int_value(found ? static_cast<int64_t>(count_characters(bytes.substr(0, at))) : -1);
    }
    if (other.empty()) {
      budget_.scanned(bytes.size());
      return int_value(static_cast<int64_t>(count_characters(bytes)) + 1);
    }
    int64_t count = 0;
    size_t at = 0;
    for (; (at = find_text(budget_, bytes, other, at)) != std::string_view::npos; ++count) {
      at += other.size();
    }
    return int_value(count);
  }

  TemplateValue remove() {
    BoundArguments bound = bind({"/affix"}, 1);
    std::string_view other = require_text(name_ + "()'s argument", *bound[0])->bytes();
    size_t begin = 0, end = text().bytes().size();
    budget_.copied(other.size());
    if (name_ == "removeprefix" && text().bytes().starts_with(other)) begin = other.size();
    if (name_ == "removesuffix" && text().bytes().ends_with(other)) end -= other.size();
    TextBuilder builder(budget_);
    builder.append(text(), begin, end);
    return string_value(builder.finish());
  }

  TemplateValue view(ViewKind kind) {
    bind({});
    auto& made = heap_.make<ViewObject>();
    made.dict = &self_.as<DictObject>();
    made.view = kind;
    return object_value(ValueKind::kView, made);
  }

  TemplateValue call_dict() {
    if (name_ == "items") return view(ViewKind::kItems);
    if (name_ == "keys") return view(ViewKind::kKeys);
    if (name_ == "values") return view(ViewKind::kValues);
    if (name_ == "get") {
      BoundArguments bound = bind({"/key", "/default"}, 1);
      require_key(*bound[0]);
      const TemplateValue* found = find_entry(budget_, self_.as<DictObject>(), *bound[0]);
      return found != nullptr ? *found : bound[1].value_or(none_value());
    }
    if (name_ == "pop") return pop_entry();
    unsupported();
  }

  static void require_key(const TemplateValue& key) {
    if (!is_hashable(key)) fault("a {} cannot be a key", type_name(key));
  }

  TemplateValue pop_entry() {
    BoundArguments bound = bind({"/key", "/default"}, 1);
    require_key(*bound[0]);
    auto& entries = self_.as<DictObject>().entries;
    const TemplateValue* found = find_entry(budget_, self_.as<DictObject>(), *bound[0]);
    if (found == nullptr && !bound[1]) fault("pop() is given a key that is not there");
    if (found == nullptr) return *bound[1];
    TemplateValue value = *found;
    std::erase_if(entries, [&](const auto& entry) { return &entry.second == found; });
    return value;
  }

  TemplateValue call_list() {
    auto& items = self_.as<ListObject>().items;
    if (name_ == "append") {
      BoundArguments bound = bind({"/object"}, 1);
      budget_.add_elements(1);
      items.push_back(*bound[0]);
      return none_value();
    }
    if (name_ == "pop") {
      BoundArguments bound = bind({"/index"});
      auto count = static_cast<int64_t>(items.size());
      int64_t index = bound[0] ? require_whole("pop()'s index", *bound[0]) : -1;
      if (index < 0) index += count;
      if (index < 0 || index >= count) fault("pop() is given an index that is not there");
      TemplateValue value = items[static_cast<size_t>(index)];
      budget_.copied(items.size() * sizeof(TemplateValue));
      items.erase(items.begin() + index);
      return value;
    }
    unsupported();
  }

  TemplateHeap& heap_;
  TemplateBudget& budget_;
  const std::string& name_;
  const TemplateValue& self_;
  const Arguments& arguments_;
};

}  // namespace

TemplateValue call_method(TemplateHeap& heap, const FunctionObject& method,
                          const Arguments& arguments) {
  return Method(heap, method, arguments).call();
}

}  // namespace hearth
