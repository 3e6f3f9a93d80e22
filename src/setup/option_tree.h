// The program's verbs and their options as data: the one list that help, completion and
// configuration are made from.
#pragma once

#include <string>
#include <vector>

namespace hearth {

struct OptionFact {
  std::vector<std::string> names = {};  // "-t", "--threads"
  std::string key = {};                // "threads": in a configuration; empty: cannot be configured
  std::string help = {}, preset = {};  // `preset`: its default, if help states one
  bool flag = false;                   // takes no value
  bool many = false;                   // may be given several times
  bool of_model = false;               // of `serve`: it may be set for one model
};

struct VerbFact {
  std::string name, help;
  std::vector<OptionFact> options;
  bool names_model = false;  // takes a model's name as a positional argument
};

using OptionTree = std::vector<VerbFact>;

}  // namespace hearth
