#include "tensor/code_tables.h"

namespace hearth {

constinit const CodeTable kTableIq4Nl = {
    .values = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
    .factor = 1};

constinit const CodeTable kTableE2m1 = {
    .values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, .factor = 0.5f};

constinit const CodeTable kTableIq3s = {
    .values = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}, .factor = 1};

constinit const CodeTable kTableIq3xxs = {
    .values = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62},
    .factor = 0.25f};

constinit const CodeTable kTableIq2 = {.values = {8, 25, 43, 0, -8, -25, -43, 0}, .factor = 0.125f};

constinit const CodeTable kTableIq1 = {.values = {1, 7, 9, 0, -1, -7, -9, 0}, .factor = 0.125f};

constinit const CodeTable kTableInt4 = {
    .values = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}, .factor = 1};

constinit const CodeTable kTableQ3 = {.values = {-4, -3, -2, -1, 0, 1, 2, 3}, .factor = 1};

}  // namespace hearth
