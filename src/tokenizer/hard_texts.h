// Texts at which ways to cut text differ, to hold two of them against each other. They are the same
// in every call: what people write with contractions, numbers, white space, scripts, marks and
// pictures; every three of the characters that stand for the classes that patterns tell apart; and
// runs of some of these.
#pragma once

#include <string>
#include <vector>

namespace hearth {

std::vector<std::string> hard_texts();

}  // namespace hearth
