#include "chat/call_form.h"

#include <algorithm>
#include <array>
#include <string>

#include "chat/call_texts.h"
#include "chat/marker_atoms.h"
#include "chat/marker_space.h"

namespace hearth {
namespace {

constexpr int kMaxBraces = 8;  // braces tried between a name and its arguments

struct Member {
  std::string_view key, text;
};

Member member_of(const ProbeCall& call, size_t index) {
  const auto& member = *(call.arguments.begin() + index);
  const boost::json::string& text = member.value().as_string();
  return {member.key(), {text.data(), text.size()}};
}

bool find_json_arguments(std::string_view text, size_t last, const ProbeCall& call,
                         CallSpot* spot) {
  size_t at = text.find('{', spot->name_end);
  for (int i = 0; i < kMaxBraces && at < last; ++i, at = text.find('{', at + 1)) {
    const size_t bytes = json_text_bytes(text.substr(at));
    if (!is_json_of(text.substr(at, bytes), call.arguments)) continue;
    spot->begin = at;
    spot->end = at + bytes;
    return true;
  }
  return false;
}

// Finds out the argument form of a call whose texts stand in quotes, and moves the spot's end past
// the last quote.
void find_form_of(std::string_view text, CallSpot* spot) {
  spot->form = ArgumentForm::kParameters;
  const std::string_view head =
      without_space_behind(text.substr(spot->name_end, spot->begin - spot->name_end));
  const std::string key_end = without_any_space(spot->behind_key);
  if (head.ends_with('(') && (key_end == "=\"" || key_end == "='")) {
    spot->form = ArgumentForm::kPython;
    spot->end += text.substr(spot->end).starts_with(key_end.back()) ? 1 : 0;
  }
  if (head.ends_with('{') && key_end.size() > 1 && key_end.front() == ':') {
    const std::string quote = key_end.substr(1);
    const bool quoted = without_any_space(spot->between_members).starts_with(quote + ",");
    if (!quoted || !text.substr(spot->end).starts_with(quote)) return;
    spot->form = ArgumentForm::kDictionary;
    spot->end += quote.size();
  }
}

bool drop_front(std::string_view* text, std::string_view mark) {
  if (!text->starts_with(mark)) mark = without_space_behind(mark);
  if (!text->starts_with(mark)) return false;
  text->remove_prefix(mark.size());
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the bytes of a ":12" at the beginning of the text; 0 where there is none.
size_t number_behind_colon(std::string_view text) {
  if (!text.starts_with(':')) return 0;
  const auto end = std::find_if_not(text.begin() + 1, text.end(), is_digit);
  const auto bytes = static_cast<size_t>(end - text.begin());
  return bytes > 1 ? bytes : 0;
}

std::string_view without_digits(std::string_view word) {
  while (!word.empty() && is_digit(word.back())) word.remove_suffix(1);
  return word;
}

class CallFormFinder {
 public:
  CallFormFinder(std::string_view turn, const std::vector<ProbeCall>& calls)
      : turn_(turn), calls_(calls) {}

  std::optional<CallFormat> find(std::string_view before) {
    if (!find_spots() || !find_arguments() || !find_ids()) return std::nullopt;
    before_ = without_space_before(before_);
    if (!before.empty()) {
      before_ = before_.substr(before_.size() - common_ending(before_, cut_id(before)));
      before_ = without_space_before(before_);
    }
    form_.name_end = middle_[0];
    find_marks();
    if (form_.id_place == IdPlace::kAroundName) move_id_begin();
    if (form_.section_begin.empty() && form_.begin.empty()) return std::nullopt;
    return form_;
  }

 private:
  bool several() const { return calls_.size() > 1; }
  std::string_view& behind_last() { return behind_[calls_.size() - 1]; }

  bool find_spots() {
    size_t from = 0;
    for (const ProbeCall& call : calls_) {
      const std::optional<CallSpot> spot = find_call(turn_, from, call);
      if (!spot) return false;
      spots_.push_back(*spot);
      from = spot->end;
    }
    if (several() && spots_[0].form != spots_[1].form) return false;
    form_.arguments = spots_[0].form;
    before_ = turn_.substr(0, spots_[0].name);
    for (size_t i = 0; i < spots_.size(); ++i) {
      const CallSpot& spot = spots_[i];
      const size_t next = i + 1 < spots_.size() ? spots_[i + 1].name : turn_.size();
      middle_[i] = turn_.substr(spot.name_end, spot.begin - spot.name_end);
      behind_[i] = turn_.substr(spot.end, next - spot.end);
    }
    behind_last() = without_space_behind(behind_last());
    return true;
  }

  // Finds the markers of parameters, and takes them off the texts around the arguments.
  bool find_arguments() {
    const CallSpot& spot = spots_[0];
    if (form_.arguments == ArgumentForm::kDictionary) {
      form_.quote = without_any_space(spot.behind_key).substr(1);
    }
    if (form_.arguments != ArgumentForm::kParameters) return true;
    const size_t shared = common_ending(middle_[0], spot.between_members);
    const std::string_view mark =
        without_space_before(spot.between_members.substr(spot.between_members.size() - shared));
    if (mark.empty()) return false;
    form_.parameter = mark;
    form_.key_end = spot.behind_key;
    form_.value_end = spot.between_members.substr(0, spot.between_members.size() - mark.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (!middle_[i].ends_with(mark) || !drop_front(&behind_[i], form_.value_end)) return false;
      middle_[i].remove_suffix(mark.size());
    }
    return !without_any_space(form_.value_end).empty();
  }

  bool find_ids() {
    const size_t number = number_behind_colon(middle_[0]);
    if (number > 0) {
      form_.id_place = IdPlace::kAroundName;
      for (size_t i = 0; i < calls_.size(); ++i) {
        const size_t bytes = number_behind_colon(middle_[i]);
        if (bytes == 0) return false;
        middle_[i].remove_prefix(bytes);
      }
    } else if (before_.find(calls_[0].id) != std::string_view::npos) {
      form_.id_place = IdPlace::kBeforeName;
      form_.id_end = before_.substr(before_.find(calls_[0].id) + calls_[0].id.size());
      before_ = cut_id(before_);
      if (several()) {
        const size_t at = behind_[0].find(calls_[1].id);
        if (at == std::string_view::npos) return false;
        behind_[0] = behind_[0].substr(0, at);
      }
    } else if (middle_[0].find(calls_[0].id) != std::string_view::npos) {
      form_.id_place = IdPlace::kBehindName;
      const size_t at = middle_[0].find(calls_[0].id);
      form_.id_begin = middle_[0].substr(0, at);
      for (size_t i = 0; i < calls_.size(); ++i) {
        const size_t place = middle_[i].find(calls_[i].id);
        if (place != at) return false;
        middle_[i].remove_prefix(at + calls_[i].id.size());
      }
    } else if (behind_[0].find(calls_[0].id) != std::string_view::npos) {
      return find_ids_behind();
    } else if (several()) {
      find_counted_ids();
    }
    return !several() || without_any_space(middle_[0]) == without_any_space(middle_[1]);
  }

  bool find_ids_behind() {
    form_.id_place = IdPlace::kBehindArguments;
    const size_t at = behind_[0].find(calls_[0].id);
    form_.id_begin = behind_[0].substr(0, at);
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (behind_[i].find(calls_[i].id) != at) return false;
      behind_[i].remove_prefix(at + calls_[i].id.size());
    }
    const char last = without_space_behind(form_.id_begin).empty() ? ' ' : form_.id_begin.back();
    if ((last == '"' || last == '\'') && behind_[0].starts_with(last)) {
      form_.id_end = std::string(1, last);
      for (size_t i = 0; i < calls_.size(); ++i) drop_front(&behind_[i], form_.id_end);
    }
    return true;
  }

  // Finds ids that the template makes by counting calls and writes before names. If there are any,
  // the last words before the two names differ only in digits.
  void find_counted_ids() {
    const size_t shared = common_ending(before_, behind_[0]);
    const auto last_word = [&](std::string_view text) {
      const auto atoms = marker_atoms(text.substr(0, text.size() - shared));
      return atoms.empty() ? std::string_view() : atoms.back();
    };
    const std::string_view first = last_word(before_), second = last_word(behind_[0]);
    if (first.empty() || second.empty() || !is_digit(first.back()) || !is_digit(second.back()) ||
        without_digits(first) != without_digits(second)) {
      return;
    }
    form_.id_place = IdPlace::kBeforeName;
    form_.id_end = before_.substr(before_.size() - shared);
    counted_ = first;
    before_.remove_suffix(shared + first.size());
    behind_[0].remove_suffix(shared + second.size());
  }

  std::string_view cut_id(std::string_view before) const {
    if (form_.id_place != IdPlace::kBeforeName) return before;
    const std::string id = (counted_.empty() ? calls_[0].id : std::string(counted_)) + form_.id_end;
    const size_t at = before.rfind(id);
    return at == std::string_view::npos ? before : before.substr(0, at);
  }

  void find_marks() {
    const std::string_view last = behind_last();
    if (!several()) {
      form_.begin = before_;
      form_.end = last;
      form_.one = true;
      return;
    }
    std::string_view rest = behind_[0];
    const std::string_view begin =
        without_space_before(before_.substr(before_.size() - common_ending(before_, rest)));
    form_.begin = begin;
    form_.section_begin = before_.substr(0, before_.size() - begin.size());
    rest.remove_suffix(begin.size());
    const size_t shared = common_beginning(last, rest);
    form_.end = last.substr(0, shared);
    form_.separator = rest.substr(shared);
    form_.section_end = last.substr(shared);
  }

  // Moves the beginning of the id to include "functions.".
  void move_id_begin() {
    std::string& begin = form_.begin;
    const auto last = std::find_if(begin.rbegin(), begin.rend(), [](char c) {
      return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.');
    });
    const auto bytes = static_cast<size_t>(last - begin.rbegin());
    form_.id_begin = begin.substr(begin.size() - bytes);
    begin.resize(begin.size() - bytes);
  }

  std::string_view turn_;
  const std::vector<ProbeCall>& calls_;
  std::vector<CallSpot> spots_;
  std::string_view before_;
  // Texts after the names, and after the arguments.
  std::array<std::string_view, 2> middle_, behind_;
  std::string_view counted_;
  CallFormat form_;
};

}  // namespace

std::optional<CallSpot> find_call(std::string_view text, size_t from, const ProbeCall& call) {
  CallSpot spot;
  spot.name = text.find(call.name, from);
  if (spot.name == std::string_view::npos) return std::nullopt;
  spot.name_end = spot.name + call.name.size();
  const Member first = member_of(call, 0), second = member_of(call, 1);
  const size_t key = text.find(first.key, spot.name_end);
  if (key == std::string_view::npos) return std::nullopt;
  if (find_json_arguments(text, key, call, &spot)) return spot;
  const size_t key_end = key + first.key.size();
  const size_t value = text.find(first.text, key_end);
  if (value == std::string_view::npos) return std::nullopt;
  const size_t value_end = value + first.text.size();
  const size_t next = text.find(second.key, value_end);
  if (next == std::string_view::npos) return std::nullopt;
  const size_t last = text.find(second.text, next + second.key.size());
  if (last == std::string_view::npos) return std::nullopt;
  spot.begin = key;
  spot.end = last + second.text.size();
  spot.behind_key = text.substr(key_end, value - key_end);
  spot.between_members = text.substr(value_end, next - value_end);
  find_form_of(text, &spot);
  return spot;
}

std::optional<CallFormat> form_of_calls(std::string_view turn, const std::vector<ProbeCall>& calls,
                                        std::string_view before) {
  return CallFormFinder(turn, calls).find(before);
}

}  // namespace hearth
