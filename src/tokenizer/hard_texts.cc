#include "tokenizer/hard_texts.h"

#include <array>
#include <span>
#include <string_view>

#include "base/utf8.h"

namespace hearth {
namespace {

constexpr std::array<std::string_view, 32> kLines = {
    "Hello, world! It's 3.14159, isn't it? We've 1,000,000 reasons; they'll see, I'd say I'm sure.",
    "HELLO WORLD IT'S DON'T WE'VE THEY'LL I'D I'M YOU'RE 'S 'T 'Re 'vE 'Ll",
    "camelCase PascalCase snake_case kebab-case SCREAMING_CASE XMLHttpRequest iPhone15Pro",
    "1 12 123 1234 12345 123456 1234567 12345678 3rd 4th 0x1F 1e-9 10% 5\xc2\xbd",
    " leading  two   three    four     five spaces and trailing   ",
    "tabs\t\tand\t spaces \t mixed\nlines\n\nblank\n\n\nthree\r\nWindows\r\n\r\nold Mac\rend \n \n "
    "x",
    "def f(x):\n    return x ** 2  # comment\n\n\nclass A:\n\tpass\n",
    "if (a != b && c >= d || !e) { x += y->z[0]; } /* note */ // end\n#include <a/b.h>\n",
    "<a href=\"https://example.org/path/to?q=1&r=2#frag\">link</a> C:\\dir\\file.txt ~/x/../y",
    "$100 \xe2\x82\xac"
    "200 \xc2\xa3"
    "300 a+b=c 2^10 ~x |y| `z` <t> @u #v %w &x *y",
    "...!!!?!---___===+++ (((x))) [[y]] {{z}} \"q\" 'r' \xe2\x80\x9cs\xe2\x80\x9d "
    "\xe2\x80\x98t\xe2\x80\x99",
    "caf\xc3\xa9 na\xc3\xafve \xc3\x9c"
    "ber stra\xc3\x9f"
    "e \xc5\x81\xc3\xb3"
    "d\xc5\xba \xc3\x85ngstr\xc3\xb6m",
    "cafe\xcc\x81 nai\xcc\x88ve U\xcc\x88"
    "ber A\xcc\x8angstro\xcc\x88m o\xcc\xa3\xcc\x82",
    "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82, \xd0\xbc\xd0\xb8\xd1\x80! "
    "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\xd0\x9c\xd0\xb8\xd1\x80 2024",
    "\xce\x93\xce\xb5\xce\xb9\xce\xac \xcf\x83\xce\xbf\xcf\x85 \xce\x9a\xcf\x8c\xcf\x83\xce\xbc\xce"
    "\xb5",
    "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c\xe4\xb8\x96\xe7\x95\x8c\xef\xbc\x81 "
    "2024\xe5\xb9\xb4\x31\xe6\x9c\x88 ABC\xe4\xb8\xad\xe6\x96\x87xyz\xe3\x80\x82",
    "\xe3\x81\x93\xe3\x82\x93\xe3\x81\xab\xe3\x81\xa1\xe3\x81\xaf\xe3\x80\x81\xe4\xb8\x96\xe7\x95"
    "\x8c\xe3\x82\xab\xe3\x82\xbf\xe3\x82\xab\xe3\x83\x8a\xe3\x83\xbc",
    "\xec\x95\x88\xeb\x85\x95\xed\x95\x98\xec\x84\xb8\xec\x9a\x94 \xec\x84\xb8\xea\xb3\x84 "
    "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab",
    "\xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1\xe0\xb8\xaa\xe0\xb8\x94\xe0\xb8\xb5\xe0\xb8\x8a\xe0\xb8"
    "\xb2\xe0\xb8\xa7\xe0\xb9\x82\xe0\xb8\xa5\xe0\xb8\x81 \xe0\xb9\x91\xe0\xb9\x92\xe0\xb9\x93",
    "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87 "
    "\xe0\xa4\xa6\xe0\xa5\x81\xe0\xa4\xa8\xe0\xa4\xbf\xe0\xa4\xaf\xe0\xa4\xbe \xe0\xa5\xa7\xe0\xa5"
    "\xa8\xe0\xa5\xa9",
    "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7 \xd8\xa8\xd8\xa7\xd9\x84\xd8\xb9\xd8\xa7\xd9\x84\xd9"
    "\x85 \xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4 \xd9\x85\xd9\x8f\xd8\xad\xd9\x8e\xd9\x85\xd9\x8e\xd9\x91"
    "\xd8\xaf",
    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd7\xa2\xd7\x95\xd7\x9c\xd7\x9d "
    "\xd7\xa9\xd6\xb8\xd7\x81\xd7\x9c",
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0"
    "\x9f\x91\xa7 \xf0\x9f\x87\xa9\xf0\x9f\x87\xaa \xe2\x9d\xa4\xef\xb8\x8f \xf0\x9f\x8f\xbd",
    "a\xc2\xa0"
    "b\xe2\x80\x89"
    "c\xe3\x80\x80"
    "d\xe2\x80\xa8"
    "e\xc2\x85"
    "f\xe2\x80\x8bg\xef\xbb\xbfh",
    "\xe2\x96\x81one\xe2\x96\x81two \xe2\x96\x81 three\xe2\x96\x81",
    "x\n \ny\n  z\n\t\n",
    "a    b",
    "\n\n\n\n",
    "       ",
    "a",
    " a",
    " ",
};

// Characters of each general category that patterns name, one or two of each category, and
// characters that patterns name one by one.
constexpr char32_t kClasses[] = {'a',    'B',    's',    't',   '1',  '9',  ' ',    '\n',  '\r',
                                 '\t',   '\'',   '.',    '/',   '_',  '$',  0xE9,   0x301, 0x416,
                                 0x4E2D, 0x304B, 0xD55C, 0xE34, 0xBD, 0xA0, 0x1F600};
// Characters that only a few patterns distinguish.
constexpr char32_t kMore[] = {'-',    '+',    '<',    '`',    '|',    '"',    0xB5,   0x1C5,
                              0x2B0,  0xAA,   0x30AB, 0x3001, 0x663,  0x2167, 0x915,  0x93E,
                              0x85,   0x3000, 0x2003, 0x200D, 0xFE0F, 0xAD,   0x20AC, 0xFF01,
                              0x2019, 0x102A, 0x9FFF, 0x2028, 0x7F,   0};
constexpr char32_t kRuns[] = {'a', 'A', '1', ' ', '\n', '!', '\'', 0x4E2D};

// Appends `begun` followed by each text of `length` of these characters.
void add_all(std::span<const char32_t> of, size_t length, const std::string& begun,
             std::vector<std::string>* texts) {
  if (length == 0) return texts->push_back(begun);
  for (const char32_t c : of) {
    std::string text = begun;
    utf8_append(text, c);
    add_all(of, length - 1, text, texts);
  }
}

}  // namespace

std::vector<std::string> hard_texts() {
  std::vector<std::string> texts(kLines.begin(), kLines.end());
  add_all(kClasses, 3, "", &texts);
  add_all(kRuns, 4, "", &texts);
  for (const char c : {' ', '\n', '\t', 'a', '=', '-'}) {
    for (size_t length = 5; length < 70; ++length) {
      texts.push_back("x" + std::string(length, c) + "y");
    }
  }
  for (const char32_t c : kMore) {
    for (const char* around : {"a", "1", " ", "\n", "!", "'", "\xe4\xb8\xad"}) {
      std::string text = around;
      utf8_append(text, c);
      texts.push_back(text);
      utf8_append(text, c);
      texts.push_back(text + around + "b");
    }
  }
  return texts;
}

}  // namespace hearth
