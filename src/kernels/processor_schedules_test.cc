#include "kernels/processor_schedules.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

const std::string kText =
    "hearth-schedules 1\n"
    "# They read four streams faster than one.\n"
    "processor GenuineIntel family 6 model 143+\n"
    "\n"
    "isa avx512bw\n"
    "attend places 4\n"
    "isa avx512\n"
    "schedule q8_0 any any threads any rows 3 tile 4 3 slice 96 unpack 0 prefetch 3072 l1 parts 1 "
    "task 0 0\n"
    "schedule q8_0 any any threads any rows any tile 2 6 slice 96 unpack 0 prefetch 3072 l1 parts "
    "1 task 0 0\n"
    "schedule q8_0 4096 1024 threads 8 rows 1 tile 4 3 slice 96 unpack 0 prefetch 3072 l1 parts 2 "
    "task 4 256\n";

TEST(ProcessorSchedules, AreRead) {
  const ProcessorSchedules read = parse_processor_schedules(kText, "text");
  EXPECT_EQ(read.vendor, "GenuineIntel");
  EXPECT_EQ(read.family, (ProcessorSchedules::Numbers{6, 6}));
  EXPECT_EQ(read.model.least, 143u);
  EXPECT_TRUE(read.is_for({"GenuineIntel", 6, 207}));
  EXPECT_FALSE(read.is_for({"GenuineIntel", 6, 142}));
  EXPECT_FALSE(read.is_for({"GenuineIntel", 7, 143}));
  EXPECT_FALSE(read.is_for({"AuthenticAMD", 6, 143}));
  EXPECT_FALSE(read.is_for({}));
  ASSERT_EQ(read.levels.size(), 2u);
  EXPECT_EQ(read.levels[0].isa, Isa::kAvx512Bw);
  EXPECT_EQ(read.levels[0].attend_places, 4u);
  EXPECT_EQ(read.levels[1].attend_places, 0u);
  ASSERT_EQ(read.levels[1].entries.size(), 3u);
  EXPECT_TRUE(read.levels[1].entries[0].product.is_any());
  EXPECT_EQ(read.levels[1].entries[1].max_rows, kAnyRows);
  EXPECT_EQ(read.levels[1].entries[2].product, (ProductShape{PackKind::kQ8_0, 4096, 1024, 8}));
}

TEST(ProcessorSchedules, KindsThatDoAlikeShareALine) {
  std::string shared = kText, apart = kText;
  const std::string line = "schedule q8_0 4096 1024 threads 8 rows 1 ";
  const size_t at = kText.find(line);
  shared.replace(at, line.size(), "schedule q8_0,l4,fp8_rows 4096 1024 threads 8 rows 1 ");
  for (const char* kind : {"l4", "fp8_rows"}) {
    apart +=
        "schedule " + std::string(kind) + kText.substr(at + std::string("schedule q8_0").size());
  }
  EXPECT_EQ(parse_processor_schedules(shared, "text"), parse_processor_schedules(apart, "text"));
}

TEST(ProcessorSchedules, RoundTrip) {
  const ProcessorSchedules read = parse_processor_schedules(kText, "text");
  const std::string text = processor_schedules_text(read);
  EXPECT_EQ(parse_processor_schedules(text, "text"), read);
  EXPECT_NE(text.find("processor GenuineIntel family 6 model 143+\n"), std::string::npos) << text;
  for (const ProcessorSchedules& shipped : shipped_processors()) {
    EXPECT_EQ(parse_processor_schedules(processor_schedules_text(shipped), "text"), shipped);
  }
}

TEST(ProcessorSchedules, VendorsWithSpacesComeBackToo) {
  ProcessorSchedules of = parse_processor_schedules(kText, "text");
  of.vendor = "  Shanghai  ";
  const std::string text = processor_schedules_text(of);
  EXPECT_NE(text.find("processor __Shanghai__ family"), std::string::npos) << text;
  const ProcessorSchedules read = parse_processor_schedules(text, "text");
  EXPECT_EQ(read, of);
  EXPECT_TRUE(read.is_for({"  Shanghai  ", 6, 207}));
}

TEST(ProcessorSchedules, SpecialOnesComeBehindOthers) {
  std::vector<ProcessorSchedules> zen5 = schedules_for({"AuthenticAMD", 27, 3});
  ASSERT_EQ(zen5.size(), 2u);
  EXPECT_EQ(zen5[0].vendor, "");
  EXPECT_EQ(zen5[1].vendor, "AuthenticAMD");
  EXPECT_EQ(schedules_for({"AuthenticAMD", 25, 1}).size(), 1u) << "Zen 4 is as others are";
  EXPECT_EQ(schedules_for({"GenuineIntel", 6, 85})[1].vendor, "GenuineIntel");
}

std::string fault_of(const std::string& text) {
  try {
    parse_processor_schedules(text, "zen9.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    return error.what();
  }
  return "";
}

// Returns the text with `to` in place of its first `from`.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kText;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ProcessorSchedules, NameOneFaultInASentence) {
  const std::string head = "'zen9.txt' is not a table of schedules: ";
  EXPECT_EQ(fault_of(with("schedules 1", "schedules 2")),
            head + "its first line is not 'hearth-schedules 1'");
  EXPECT_EQ(fault_of("hearth-schedules 1\nisa avx2\n"), head + "it names no processor");
  EXPECT_EQ(fault_of(with("143+", "143-")),
            head + "line 3 is 'processor GenuineIntel family 6 model 143-', which is unknown");
  EXPECT_EQ(fault_of(with("isa avx512bw", "isa avx1024")),
            head + "line 5 is 'isa avx1024', which is unknown");
  EXPECT_EQ(fault_of(with("isa avx512\n", "isa avx512bw\n")),
            head + "line 7 is 'isa avx512bw', which is unknown");
  EXPECT_EQ(fault_of(with("places 4", "places 3")),
            head + "line 6 is 'attend places 3', which is unknown");
  EXPECT_EQ(fault_of(with("q8_0", "q9_9")), head + "schedule line 8 has the unknown type 'q9_9'");
  EXPECT_EQ(fault_of(with("q8_0", "q4_0,q9_9")),
            head + "schedule line 8 has the unknown type 'q9_9'");
  EXPECT_EQ(fault_of(with("q8_0", "q4_0,")), head + "schedule line 8 has the unknown type 'any'");
  EXPECT_EQ(fault_of(with("any any threads any", "any any threads 2")),
            head + "schedule line 8 gives only some sizes: give all, or 'any any threads any'");
}

// A text is read or refused, whatever bytes it has.
TEST(ProcessorSchedules, DamagedTextsAreReadOrRefused) {
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = kText;
    for (uint32_t n = random() % 4 + 1; n > 0; --n) {
      text[random() % text.size()] = static_cast<char>(random() % 2 == 0 ? random() : '\n');
    }
    try {
      parse_processor_schedules(text, "text");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace hearth
