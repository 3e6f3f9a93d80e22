#include "tokenizer/pattern_spelling.h"

#include <vector>

#include "base/utf8.h"
#include "tokenizer/pattern_class.h"

namespace hearth {

namespace {

class Speller {
 public:
  explicit Speller(std::string_view regex) : rest_(regex) {}

  std::string run() {
    while (!rest_.empty()) item();
    return std::move(out_);
  }

 private:
  void put(std::string_view text, size_t taken) {
    out_ += text;
    rest_.remove_prefix(taken);
  }

  // Writes an atom: something that a quantifier may follow.
  void put_atom(std::string_view text, size_t taken) {
    atom_ = out_.size();
    put(text, taken);
  }

  void item() {
    switch (rest_[0]) {
      case '\\': {
        const PatternPiece piece = spell_escape(rest_);
        return put_atom(piece.spelled, piece.taken);
      }
      case '[': {
        const PatternPiece piece = spell_class(rest_);
        return put_atom(piece.spelled, piece.taken);
      }
      case '(':
        return open_group();
      case ')':
        put(")", 1);
        if (!groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        }
        return;
      case '{':
        return interval();
      case '*':
      case '+':
      case '?':
        return put(rest_.substr(0, 1), 1);
      default:
        const size_t length = std::max<size_t>(utf8_sequence(rest_), 1);
        return put_atom(rest_.substr(0, length), length);
    }
  }

  void open_group() {
    if (rest_.starts_with("(?#")) {
      const size_t end = rest_.find(')');
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      return;
    }
    // PCRE2 would take "(*" for a command; it is replaced by something that PCRE2 refuses.
    if (rest_.starts_with("(*")) return put("(?:*", 2);
    groups_.push_back(out_.size());
    if (!rest_.starts_with("(?")) return put("(", 1);
    size_t end = 2;
    while (end < rest_.size() && std::string_view("imx-").find(rest_[end]) < 4) ++end;
    const bool flags = end > 2 && end < rest_.size() && (rest_[end] == ':' || rest_[end] == ')');
    if (!flags) return put("(?", 2);
    for (char flag : rest_.substr(0, end)) out_ += flag == 'm' ? 's' : flag;
    rest_.remove_prefix(end);
    if (rest_[0] == ':') put(":", 1);
  }

  // Reads {n}, {n,}, {n,m} or {,m}; anything else is literal characters.
  void interval() {
    size_t at = 1;
    auto digits = [&] {
      const size_t from = at;
      while (at < rest_.size() && rest_[at] >= '0' && rest_[at] <= '9') ++at;
      return rest_.substr(from, at - from);
    };
    const std::string_view least = digits();
    const bool comma = at < rest_.size() && rest_[at] == ',';
    if (comma) ++at;
    const std::string_view most = comma ? digits() : std::string_view();
    const bool counts = at < rest_.size() && rest_[at] == '}' && !(least.empty() && most.empty());
    if (!counts) return put_atom("\\{", 1);
    std::string spelled = "{";
    spelled += least.empty() ? "0" : least;
    if (comma) (spelled += ',') += most;
    put(spelled + "}", at + 1);
    const bool repeated = rest_.starts_with('+') || (!comma && rest_.starts_with('?'));
    if (!repeated) return;
    out_.insert(atom_, "(?:");
    out_ += ')';
  }

  std::string_view rest_;
  std::string out_;
  size_t atom_ = 0;             // where in `out_` the atom begins that a quantifier would repeat
  std::vector<size_t> groups_;  // where the open groups begin
};

}  // namespace

std::string spell_for_pcre2(std::string_view regex) { return Speller(regex).run(); }

}  // namespace hearth
