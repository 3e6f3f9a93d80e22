// Reads and writes a chat's files, and runs an editor on a text. A "~/" at a path's beginning is
// the home folder. Errors (kFile): a file that cannot be read or written, with its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

inline constexpr size_t kMaxTextFileBytes = 64 << 20;

// Returns a file's text; bytes that are not UTF-8 become U+FFFD. Refuses files with a zero byte or
// more than kMaxTextFileBytes, and what is not a regular file.
std::string read_text_file(const std::string& path);

bool is_there(const std::string& path);
// Writes a file as a whole or, on an error, not at all.
void write_text_file(const std::string& path, std::string_view text);

// Lets the user edit a text in $VISUAL, $EDITOR or vi, and returns it as saved. The editor has the
// terminal while it runs: it gets Ctrl-C, and Ctrl-Z stops this process together with it.
std::string edited_text(std::string_view text);

// Returns the paths that begin with `beginning`, sorted, folders with a slash at their end.
std::vector<std::string> paths_from(const std::string& beginning);

}  // namespace hearth
