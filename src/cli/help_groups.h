// The layout of help pages: the named groups that options stand in, and how the parser writes a
// line. Help pages do not list which options exclude each other: the error about two such options
// names both.
#pragma once

#include <string>

#include "cli/cli11.h"

namespace CLI {
class ParseError;
}  // namespace CLI

namespace hearth {

// Puts the verbs, and the options of verbs that have many, under headings. Call it after all verbs
// are added.
void group_options(CLI::App& program);

// Makes the pages of the program and of all its verbs name neither the options that exclude each
// other nor the conditions of a value. Call it before verbs are added: verbs inherit the format.
void set_help_format(CLI::App& program);

// Returns the parser's sentence about an error. If two options exclude each other, or one needs
// another, the sentence names both and the remedy.
std::string parse_sentence(const CLI::ParseError& error);

}  // namespace hearth
