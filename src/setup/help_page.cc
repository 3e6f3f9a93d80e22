#include "setup/help_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {
namespace {

constexpr size_t kNarrow = 70, kNarrowIndent = 8, kNamesIndent = 6, kMinTextColumns = 16;

// Appends words, of which the first is at `column`, and indents further lines by `indent`.
void append_words(std::string_view words, size_t column, size_t indent, size_t columns,
                  std::string* out) {
  const size_t most = std::max(columns, indent + kMinTextColumns);
  bool first = true;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (!first && column + 1 + end > most) {
      *out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      *out += ' ';
      ++column;
    }
    *out += words.substr(0, end);
    column += end;
    first = false;
    words.remove_prefix(std::min(words.find_first_not_of(' ', end), words.size()));
  }
  *out += '\n';
}

bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == text.npos; }

void append_line(std::string_view line, size_t columns, std::string* out) {
  const size_t indent = columns < kNarrow ? kNarrowIndent : kHelpColumn;
  const size_t first = line.find_first_not_of(' ');
  if (first == line.npos) {
    *out += '\n';
    return;
  }
  // The line has the names of an option or a verb, a gap, and its text; or only names, or only
  // text.
  const bool text_only = first == kHelpColumn;
  const bool both = first == 2 && line.size() > kHelpColumn && line[kHelpColumn - 1] == ' ' &&
                    line[kHelpColumn] != ' ';
  if (!text_only && !both) {
    *out += line.substr(0, first);
    return append_words(line.substr(first), first, first == 2 ? kNamesIndent : first, columns, out);
  }
  std::string_view names = line.substr(0, kHelpColumn);
  if (columns < kNarrow) {
    if (!is_blank(names)) *out += names.substr(0, names.find_last_not_of(' ') + 1), *out += '\n';
    *out += std::string(indent, ' ');
  } else {
    *out += names;
  }
  append_words(line.substr(kHelpColumn), indent, indent, columns, out);
}

}  // namespace

std::string help_page(std::string_view page, size_t columns, bool all, const std::string& verb) {
  std::string out;
  bool examples = false, rare = false, left_out = false;
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    examples = examples || line == "Examples:";
    const bool heading = line.ends_with(':') && !line.starts_with(' ');
    // An empty line ends a section.
    if (heading || line.empty()) rare = !all && line == fmt::format("{}:", kRareSection);
    left_out = left_out || rare;
    if (rare) continue;
    if (examples) {
      out += line;
      out += '\n';
    } else {
      append_line(line, columns, &out);
    }
  }
  if (left_out) out += fmt::format("\n`hearth {} --help-all` lists the limits as well.\n", verb);
  return out;
}

}  // namespace hearth
