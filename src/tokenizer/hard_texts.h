// Texts on which different ways to split text differ, so that two ways can be compared. They are
// the same in every call: ordinary text with contractions, numbers, white space, scripts, marks and
// emoji; every three of the characters that stand for the classes of patterns; and runs of some of
// these.
#pragma once

#include <string>
#include <vector>

namespace hearth {

std::vector<std::string> hard_texts();

}  // namespace hearth
