// The program's verbs and their options as data: the one list that help, completion and
// configuration are made from.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct OptionFact {
  std::vector<std::string> names = {};  // "-t", "--threads"
  std::string key = {};                // "threads": in a configuration; empty: cannot be configured
  std::string help = {}, preset = {};  // `preset`: its default, as far as it is told
  bool flag = false;                   // takes no value
  bool many = false;                   // may be given several times
  bool of_model = false;               // of `serve`: says something of one model
};

struct VerbFact {
  std::string name, help;
  std::vector<OptionFact> options;
  bool names_model = false;  // by a word that is no option
};

using OptionTree = std::vector<VerbFact>;

}  // namespace hearth
