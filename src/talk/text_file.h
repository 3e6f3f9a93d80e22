// Files that a chat reads and writes, and the editor that opens one. A "~/" at the start of a path
// is the home folder. Errors (kFile): what cannot be read or written, named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

inline constexpr size_t kMostTextFileBytes = 64 << 20;

// The text of a file; bytes that are not UTF-8 become U+FFFD. A file that holds a zero byte, one
// that is larger than kMostTextFileBytes, and what is no file, are refused.
std::string read_text_file(const std::string& path);

bool is_there(const std::string& path);
// Writes the file whole or not at all.
void write_text_file(const std::string& path, std::string_view text);

// Lets the user change a text in $VISUAL, $EDITOR or vi, and returns it as saved. The editor has
// the terminal to itself meanwhile: Ctrl-C is its own, Ctrl-Z stops this process with it.
std::string edited_text(std::string_view text);

// The files whose path begins so, folders with a slash at their end, sorted.
std::vector<std::string> paths_from(const std::string& beginning);

}  // namespace hearth
