// Bytes in and out of the program: files and standard input read whole, standard output without a
// buffer. Errors (kFile) name a file that cannot be read or written. If no program reads standard
// output any more, SIGPIPE ends the process, as it ends other tools.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Returns the contents of a file, without a byte order mark at its start; "-" is standard input.
std::string read_text(const std::string& path);

// Returns a server's key: the file's first line, without blanks at its ends. Errors (kFile): other
// characters than visible ASCII.
std::string read_key(const std::string& path);

void write_stdout(std::string_view text);

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// Prints "hearth: note: TEXT" to standard error.
void print_note(std::string_view text);

// Returns the text without one newline at its end, which an editor or echo put there.
std::string without_last_newline(std::string text);

}  // namespace hearth
