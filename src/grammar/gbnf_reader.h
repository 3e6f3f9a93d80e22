// Reads GBNF, llama.cpp's notation of grammars, as a tree.
//
// Errors (kRequest) name the line: invalid syntax, a rule that is missing or defined twice, more
// than 256 KiB, groups nested more than 64 deep, a bound of a repetition above 1,000,000.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/code_points.h"

namespace hearth {

struct GbnfNode {
  enum class Kind : uint8_t { kLiteral, kClass, kRule, kSequence, kChoice, kRepeat };

  Kind kind;
  std::string literal = {};          // kLiteral: its bytes
  CodePoints points = {};            // kClass
  uint32_t rule = 0;                 // kRule: its number
  std::vector<GbnfNode> parts = {};  // kSequence, kChoice; kRepeat: one
  uint64_t least = 0, most = 0;      // kRepeat
};

struct GbnfRule {
  std::string name;
  GbnfNode body;
  bool defined = false;
};

struct GbnfText {
  std::vector<GbnfRule> rules;
  uint32_t root = 0;
};

GbnfText read_gbnf(std::string_view text);

}  // namespace hearth
