#include "cost/tuned_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "models/test_source.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::function<void()>& what, ErrorCode code = ErrorCode::kFile) {
  try {
    what();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "nothing";
}

class TunedStoreTest : public testing::Test {
 protected:
  TunedStoreTest() {
    std::string name = testing::TempDir() + "tuned.XXXXXX";
    folder_ = mkdtemp(name.data());
    tuned_.machine = machine_fields(machine_, Isa::kReference);
    tuned_.model = model_fields(TestModel(LlamaShape{}).spec());
    tuned_.engine_plan = "hearth-engine-plan 2\nthread_pus 0 1\n";
    tuned_.lengths = {256, 64, 512};
    tuned_.phases = {{Phase::kDecode, true, {0.93, 0.91, 0.95}, 41},
                     {Phase::kPrefill, false, {1, 1, 1}, 0}};
    tuned_.trials = {{Phase::kDecode, 0x0123456789abcdef, {1.5, 1.25, 2}}};
    tuned_.threshold = {32, {0.75, 0.5, 0.875}, 40};
    tuned_.threshold_trials = {{32, 0xfedcba9876543210, {0.75, 0.5, 0.875}, 1.0625},
                               {64, 3, {1, 0.5, 1.5}, 2}};
    const ProductShape shape{PackKind::kQ8_0, 4096, 1024, 2};
    tuned_.products = {{{shape, 1, {}}, {}, 17},
                       {{shape, 16, {.tile_panels = 1, .tile_rows = 6, .task_panels = 8}},
                        {0.75, 0.5, 0.875},
                        61}};
    tuned_.steps = {{Phase::kDecode, 16, {0.75, 0.5, 0.875}, 20},
                    {Phase::kPrefill, 512, {}, 0, true}};
  }
  ~TunedStoreTest() override { fs::remove_all(folder_); }

  static void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  std::string folder_;
  const Machine machine_ = Machine::from_synthetic("numa:1 core:2 pu:1");
  Tuned tuned_;
};

TEST_F(TunedStoreTest, TextRoundTrips) {
  tuned_.attend = {
      {.places = 4, .tasks = 8}, {0.75, 0.5, 0.875}, 20, {{.places = 4}, {.tasks = 8}}};
  tuned_.attend->confirmed = {{.places = 4}, {0.875, 0.75, 0.9375}};
  const std::string text = tuned_text(tuned_);
  EXPECT_EQ(parse_tuned(text, "f"), tuned_) << text;
  tuned_.anew = true;
  EXPECT_EQ(parse_tuned(tuned_text(tuned_), "f"), tuned_);
  Tuned bare;
  bare.machine = tuned_.machine;
  bare.model = tuned_.model;
  EXPECT_EQ(parse_tuned(tuned_text(bare), "f"), bare);
  EXPECT_EQ(tuned_text(bare).find("section"), std::string::npos);
}

TEST_F(TunedStoreTest, KeepsJointResults) {
  tuned_.joints = {{Phase::kDecode, 0x0123456789abcdef, 7, {0.75, 0.5, 0.875}},
                   {Phase::kPrefill, 1, 2, {}}};
  const std::string text = tuned_text(tuned_);
  EXPECT_NE(text.find("\njoint decode 0123456789abcdef 0000000000000007 0.75 0.5 0.875\n"),
            std::string::npos);
  EXPECT_EQ(parse_tuned(text, "file"), tuned_);
}

TEST_F(TunedStoreTest, SchedulesOfProductsThatGainNowhereAreLeftOut) {
  const ScheduleEntry gains = tuned_.products[1].entry, stays = tuned_.products[0].entry;
  EXPECT_EQ(tuned_schedules(tuned_).entries, (std::vector<ScheduleEntry>{stays, gains}));
  EXPECT_TRUE(tuned_schedules(tuned_).at(gains.product, 1).is_default());
  EXPECT_EQ(tuned_schedules(tuned_).at(gains.product, 2), gains.schedule);
  tuned_.products.pop_back();
  EXPECT_TRUE(tuned_schedules(tuned_).empty());
}

TEST_F(TunedStoreTest, AttentionIsAsItWasFound) {
  EXPECT_TRUE(timed_schedules(tuned_).attend.is_default());
  tuned_.attend = {{.places = 4, .tasks = 8}, {0.75, 0.5, 0.875}, 20, {{.places = 4}}};
  tuned_.attend->confirmed = {{.places = 4}, {0.875, 0.75, 0.9375}};
  EXPECT_EQ(timed_schedules(tuned_).attend, tuned_.attend->schedule);
  const std::string text = tuned_text(tuned_), line = "attend 0.75 0.5 0.875 trials 20 4 8\n";
  ASSERT_NE(text.find(line), std::string::npos) << text;
  std::string twice = text;
  EXPECT_THROW(parse_tuned(twice.insert(text.find(line), line), "f"), Error);
  const std::string tried = "attend_tried 4 0\n";
  ASSERT_NE(text.find(line + tried), std::string::npos) << text;
  const std::string confirmed = "attend_confirmed 0.875 0.75 0.9375 4 0\n";
  for (const std::string& later : {tried, confirmed}) {
    std::string before = text;
    EXPECT_THROW(parse_tuned(before.insert(text.find(line), later), "f"), Error) << later;
  }
  std::string again = text;
  EXPECT_THROW(parse_tuned(again.insert(text.find(confirmed), confirmed), "f"), Error);
}

TEST_F(TunedStoreTest, StepsAndAttentionAreOfOnePlan) {
  tuned_.attend = {{.places = 4}, {0.75, 0.5, 0.875}, 20, {{.places = 4}}};
  const Tuned before = tuned_;
  keep_engine_plan(before.engine_plan, &tuned_);
  EXPECT_EQ(tuned_, before);
  keep_engine_plan("another", &tuned_);
  EXPECT_EQ(tuned_.engine_plan, "another");
  EXPECT_TRUE(tuned_.steps.empty());
  EXPECT_FALSE(tuned_.attend);
  EXPECT_EQ(tuned_.products, before.products);
}

TEST_F(TunedStoreTest, ProductsKeepDefaultsWhereNoStepOfAsManyRowsWasTimed) {
  TunedProduct prompt = tuned_.products[1];
  prompt.entry.max_rows = 64;
  prompt.entry.schedule.task_panels = 4;
  tuned_.products.push_back(prompt);
  const ProductShape& shape = prompt.entry.product;
  auto timed = [&](uint32_t rows) { return timed_schedules(tuned_).at(shape, rows); };
  // A prompt of 512 tokens is computed in steps of 64 rows.
  EXPECT_EQ(timed_schedules(tuned_), tuned_schedules(tuned_));
  tuned_.steps.pop_back();
  EXPECT_EQ(timed(16), tuned_.products[1].entry.schedule);
  EXPECT_TRUE(timed(64).is_default()) << "and not as in steps of fewer rows";
  tuned_.steps = {{Phase::kPrefill, 64, {}, 0}};
  EXPECT_TRUE(timed(16).is_default());
  EXPECT_EQ(timed(64), prompt.entry.schedule);
  tuned_.steps = {{Phase::kDecode, 512, {}, 0}};
  EXPECT_TRUE(timed_schedules(tuned_).empty());
}

TEST_F(TunedStoreTest, ProductsOfOtherPlansAreKeptAndNotUsed) {
  TunedProduct four = tuned_.products[1];
  four.entry.product.threads = 4;
  tuned_.products.push_back(four);
  const std::vector<TunedProduct> all = tuned_.products;
  divide_products(&tuned_, [](const ProductShape& shape) { return shape.threads == 2; });
  EXPECT_EQ(tuned_.products, (std::vector<TunedProduct>{all[0], all[1]}));
  EXPECT_EQ(tuned_.others, (std::vector<TunedProduct>{four}));
  const std::string text = tuned_text(tuned_);
  EXPECT_NE(text.find("\nother 0.75 0.5 0.875 trials 61 schedule "), std::string::npos) << text;
  EXPECT_EQ(parse_tuned(text, "f"), tuned_);
  for (const ScheduleEntry& entry : tuned_schedules(tuned_).entries) {
    EXPECT_EQ(entry.product.threads, 2u);
  }
  // A product that is listed twice counts once.
  tuned_.others.push_back(all[1]);
  divide_products(&tuned_, [](const ProductShape&) { return true; });
  EXPECT_EQ(tuned_.products, all);
  EXPECT_TRUE(tuned_.others.empty());
}

TEST_F(TunedStoreTest, SchedulesOfProductsAreExportedAsAProcessors) {
  const Processor processor{"AuthenticAMD", 27, 3};
  const ProcessorSchedules exported = exported_schedules(tuned_, processor, Isa::kReference);
  EXPECT_TRUE(exported.is_for(processor));
  EXPECT_FALSE(exported.is_for({"AuthenticAMD", 27, 4}));
  ASSERT_EQ(exported.levels.size(), 1u);
  EXPECT_EQ(exported.levels[0].entries, tuned_schedules(tuned_).entries);
  EXPECT_EQ(parse_processor_schedules(processor_schedules_text(exported), "f"), exported);
  auto refused = [&] {
    return refusal([&] { exported_schedules(tuned_, processor, Isa::kReference); },
                   ErrorCode::kUsage);
  };
  const std::vector<TunedStep> steps = std::exchange(tuned_.steps, {});
  EXPECT_NE(refused().find("no kernel schedule saved for this model is faster than the default: "
                           "search for some with `hearth tune MODEL`"),
            std::string::npos);
  tuned_.steps = {{Phase::kDecode, 4, {}, 20}};
  EXPECT_NE(refused().find("no kernel schedule saved for this model is faster than the default: "
                           "search for some with `hearth tune MODEL`"),
            std::string::npos);
  tuned_.steps = steps;
  tuned_.products.pop_back();
  EXPECT_NE(refused().find("no kernel schedule saved for this model is faster than the default: "
                           "search for some with `hearth tune MODEL`"),
            std::string::npos);
  // Now only attention has a schedule faster than the default.
  tuned_.attend = {{.places = 4, .tasks = 8}, {0.75, 0.5, 0.875}, 20, {}};
  const ProcessorSchedules attend = exported_schedules(tuned_, processor, Isa::kReference);
  ASSERT_EQ(attend.levels.size(), 1u);
  EXPECT_EQ(attend.levels[0].attend_places, 4u);
  EXPECT_TRUE(attend.levels[0].entries.empty());
  EXPECT_EQ(parse_processor_schedules(processor_schedules_text(attend), "f"), attend);
  tuned_.attend->schedule.places = 0;
  EXPECT_NE(
      refused().find(
          "this model gains only from attention's number of tasks, which a processor's schedules "
          "cannot express: nothing to export; the result stays saved for `hearth tune`"),
      std::string::npos);
}

TEST_F(TunedStoreTest, KeepsTheBandwidthsOfEachMachine) {
  const TunedStore store(folder_ + "/own", {folder_ + "/system"});
  const TunedFields& fields = tuned_.machine;
  EXPECT_FALSE(store.find_bandwidth(machine_, fields).table.has_value());
  EXPECT_EQ(store.find_bandwidth(machine_, fields).note, "");
  BandwidthTable table = assumed_bandwidth(machine_);
  table.read[0][0] = 12.5e9;
  {
    const TunedLock lock = store.lock();
    store.save_bandwidth(machine_, fields, table);
  }
  const TunedStore::FoundBandwidth found = store.find_bandwidth(machine_, fields);
  ASSERT_TRUE(found.table.has_value()) << found.note;
  EXPECT_EQ(found.table->read, table.read);
  EXPECT_TRUE(store.list().empty()) << "it is no tuned model";
  // A different machine has another file.
  TunedFields other = fields;
  other[0].second = "another processor";
  EXPECT_FALSE(store.find_bandwidth(machine_, other).table.has_value());
  // The machine's file holds a table of other nodes, and then a text that is no table.
  const Machine two = Machine::from_synthetic("numa:2 core:2 pu:1");
  const TunedStore::FoundBandwidth strange = store.find_bandwidth(two, fields);
  EXPECT_FALSE(strange.table.has_value());
  EXPECT_NE(strange.note.find("is not used: the bandwidth table has 1 nodes"), std::string::npos)
      << strange.note;
  write(found.path, "{");
  EXPECT_NE(store.find_bandwidth(machine_, fields).note.find("is not used: "), std::string::npos);
  // The user's folder has no table, so the one that the administrator provided is used.
  fs::create_directories(folder_ + "/system");
  TunedStore(folder_ + "/system", {}).save_bandwidth(machine_, fields, table);
  EXPECT_TRUE(store.find_bandwidth(machine_, fields).table.has_value());
}

TEST_F(TunedStoreTest, RefusesWhatItDoesNotKnow) {
  const std::string text = tuned_text(tuned_);
  auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return refusal([&] { parse_tuned(changed, "f"); });
  };
  const std::string head = "'f' is not a file of tuned plans: ";
  const std::string tail = "; delete it with `hearth tune --remove`";
  auto line = [&](const std::string& fault) { return head + "line " + fault + tail; };
  EXPECT_EQ(
      with("hearth-tuned 1", "hearth-tuned 2"),
      head + "its first line is 'hearth-tuned 2', and this version reads 'hearth-tuned 1'" + tail);
  EXPECT_EQ(with("hearth-tuned 1", "tuned"),
            head + "its first line is not 'hearth-tuned 1'" + tail);
  EXPECT_EQ(with("machine cpu", "colour cpu"), line("2 is 'colour cpu unknown', which is unknown"));
  EXPECT_EQ(with("section plans", "section colours"),
            line("11 is 'section colours', which is unknown"));
  EXPECT_EQ(with("lengths 256 64 512", "lengths"), line("12 has '' instead of a number of tokens"));
  EXPECT_EQ(with("lengths 256", "lengths 1\nlengths 256"), line("13 repeats an entry"));
  EXPECT_EQ(with("trial decode", "trial both"), line("15 has 'both' instead of prefill or decode"));
  EXPECT_EQ(with("0123456789abcdef", "xyz"), line("15 has 'xyz' instead of a hash"));
  EXPECT_EQ(with("1.5 1.25 2", "nan 1 2"), line("15 has 'nan' instead of a ratio"));
  EXPECT_EQ(with("1.5 1.25 2", "3 1 2"), line("15 has a ratio outside of its interval"));
  EXPECT_EQ(with("1.5 1.25 2", "1.5 1.25 2 4"), line("15 has too many words"));
  EXPECT_EQ(with("trials 41", "trials -1"), line("13 has '-1' instead of a number"));
  EXPECT_EQ(with("0.93 0.91 0.95", "0.93 0.91 1e9"), line("13 has '1e9' instead of a ratio"));
  EXPECT_EQ(with("threshold 32", "threshold 0"), line("16 has '0' instead of a number of rows"));
  EXPECT_EQ(with("threshold_trial 32", "threshold 32"), line("17 has a second threshold"));
  EXPECT_EQ(with("dearest 1.0625", "cheapest 1.0625"),
            line("17 is 'threshold_trial 32 fedcba9876543210 0.75 0.5 0.875 cheapest 1.0625', "
                 "which is unknown"));
  EXPECT_EQ(with("dearest 1.0625", "dearest 0"), line("17 has '0' instead of a ratio"));
  EXPECT_EQ(with("product 1 1 1", "product 1 1"), line("24 has 'trials' instead of a ratio"));
  EXPECT_EQ(with("trials 17 schedule q8_0", "trials 17 schedule q9_0"),
            head + "schedule line 24 has the unknown type 'q9_0'" + tail);
  EXPECT_EQ(with("task 0 0", "task 0 0 0"), head + "schedule line 24 has '0' after its end" + tail);
  EXPECT_EQ(with("step decode 16", "step decode 0"), line("26 has '0' instead of a number"));
  EXPECT_EQ(with("step prefill 512", "steps prefill 512"),
            line("27 is 'steps prefill 512 1 1 1 trials 0 confirmed', which is unknown"));
  EXPECT_EQ(with("0 confirmed", "0 maybe"),
            line("27 is 'step prefill 512 1 1 1 trials 0 maybe', which is unknown"));
  EXPECT_EQ(with("0 confirmed", "0 confirmed twice"), line("27 has too many words"));
  EXPECT_EQ(with("confirmed\nend\n", "confirmed\n"), head + "its last section has no end" + tail);
  EXPECT_EQ(with("\nend\n", "\nend\nsection plans\nend\n"),
            line("23 begins a section that an earlier line began"));
  EXPECT_EQ(with("machine cpu unknown", "machine cpu"), line("2 lacks a name or a value"));
  EXPECT_EQ(refusal([&] { parse_tuned(text + std::string(5000, 'x'), "f"); }),
            line("29 is longer than 4096 bytes"));
  EXPECT_EQ(refusal([&] { parse_tuned(std::string(kMaxTunedBytes + 1, '\n'), "f"); }),
            head + "it is longer than 1 MiB" + tail);
  EXPECT_EQ(refusal([&] { parse_tuned("hearth-tuned 1" + std::string(20000, '\n'), "f"); }),
            line("2 is '', which is unknown"));
}

TEST_F(TunedStoreTest, SavesAndFinds) {
  const TunedStore store(folder_ + "/a/b", {folder_ + "/system"});
  EXPECT_FALSE(store.find(tuned_.machine, tuned_.model).tuned);
  EXPECT_EQ(store.find(tuned_.machine, tuned_.model).note, "");
  const TunedLock lock = store.lock();
  const std::string path = store.save(tuned_);
  TunedStore::Found found = store.find(tuned_.machine, tuned_.model);
  EXPECT_EQ(found.tuned, tuned_);
  EXPECT_EQ(found.path, path);
  tuned_.phases[0].trials = 42;
  EXPECT_EQ(store.save(tuned_), path);
  EXPECT_EQ(store.find(tuned_.machine, tuned_.model).tuned, tuned_);
  ASSERT_EQ(store.list().size(), 1u);
  EXPECT_EQ(store.list()[0].tuned, tuned_);
  EXPECT_TRUE(store.remove(tuned_.machine, tuned_.model));
  EXPECT_FALSE(store.remove(tuned_.machine, tuned_.model));
  EXPECT_TRUE(store.list().empty());
  // The own folder has no file, so the system's folder is read.
  const TunedStore system(folder_ + "/system", {});
  const TunedLock other = system.lock();
  system.save(tuned_);
  EXPECT_EQ(store.find(tuned_.machine, tuned_.model).tuned, tuned_);
}

TEST_F(TunedStoreTest, AnotherMachineIsNamedByTheFieldThatDiffers) {
  const TunedStore store(folder_, {});
  const TunedLock lock = store.lock();
  store.save(tuned_);
  Machine machine = machine_;
  auto note = [&](const TunedFields& fields) { return store.find(fields, tuned_.model).note; };
  auto says = [](const std::string& what) {
    return "this model was tuned only on another machine (" + what + "): run `hearth tune` here";
  };
  EXPECT_EQ(note(machine_fields(machine, Isa::kAvx2)),
            says("isa is reference there and avx2 here"));
  machine.cpu_quota = 1.5;
  EXPECT_EQ(note(machine_fields(machine, Isa::kReference)),
            says("quota is none there and 1.5 here"));
  machine.allowed_pus = {1};
  EXPECT_EQ(note(machine_fields(machine, Isa::kReference)), says("pus is 0-1 there and 1 here"));
  machine = Machine::from_synthetic("numa:2 core:1 pu:1");
  EXPECT_NE(note(machine_fields(machine, Isa::kReference)).find("topology is 1 packages, 1 nodes"),
            std::string::npos);
  // A file of another machine lies under this machine's name.
  std::string text = tuned_text(tuned_);
  text.replace(text.find("isa reference"), 13, "isa avx2");
  write(store.list()[0].path, text);
  EXPECT_NE(note(tuned_.machine).find("is not used: isa is avx2 there and reference here"),
            std::string::npos);
  EXPECT_FALSE(store.find(tuned_.machine, tuned_.model).tuned);
  // Another model shape has no file.
  const TunedFields other = model_fields(TestModel(LlamaShape{.layers = 2}).spec());
  EXPECT_EQ(store.find(tuned_.machine, other).note, "");
}

TEST_F(TunedStoreTest, FineTunesShareAShape) {
  const TestModel one(LlamaShape{}), two(LlamaShape{}), other(LlamaShape{.type = DType::kQ8_0});
  EXPECT_EQ(model_fields(one.spec()), model_fields(two.spec()));
  EXPECT_NE(model_fields(one.spec()), model_fields(other.spec()));
}

TEST_F(TunedStoreTest, ReportsDamagedFiles) {
  const TunedStore store(folder_, {});
  std::string path;
  {
    const TunedLock lock = store.lock();
    path = store.save(tuned_);
  }
  write(path, "hearth-tuned 7\n");
  const TunedStore::Found found = store.find(tuned_.machine, tuned_.model);
  EXPECT_FALSE(found.tuned);
  EXPECT_NE(found.note.find("its first line is 'hearth-tuned 7'"), std::string::npos);
  ASSERT_EQ(store.list().size(), 1u);
  EXPECT_EQ(store.list()[0].fault, found.note);
  write(path, std::string(3 << 20, 'x'));
  EXPECT_NE(store.find(tuned_.machine, tuned_.model).note.find("longer than 1 MiB"),
            std::string::npos);
}

TEST_F(TunedStoreTest, TwoTuningProcessesExcludeEachOther) {
  const TunedStore store(folder_, {});
  {
    const TunedLock lock = store.lock();
    EXPECT_EQ(
        refusal([&] { store.lock(); }, ErrorCode::kBusy),
        "another `hearth tune` is writing to '" + folder_ + "': wait until it ends, or stop it");
  }
  EXPECT_EQ(refusal([&] { store.lock(); }), "nothing");
}

TEST_F(TunedStoreTest, ReportsAFolderThatCannotBeMade) {
  write(folder_ + "/file", "");
  const TunedStore store(folder_ + "/file/tuned", {});
  EXPECT_NE(refusal([&] { store.lock(); })
                .find("), so tuning results would be lost: make it writable, or set "
                      "XDG_CONFIG_HOME to another folder"),
            std::string::npos);
}

TEST(TunedStore, FollowsTheEnvironment) {
  auto own = [](std::map<std::string, std::string> values) {
    return TunedStore::of_environment([values](const char* name) {
             auto found = values.find(name);
             return found == values.end() ? nullptr : found->second.c_str();
           })
        .own();
  };
  EXPECT_EQ(own({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}}), "/c/hearth/tuned");
  EXPECT_EQ(own({{"XDG_CONFIG_HOME", "c"}, {"HOME", "/h"}}), "/h/.config/hearth/tuned");
  EXPECT_EQ(own({{"HOME", "/h"}}), "/h/.config/hearth/tuned");
}

TEST_F(TunedStoreTest, FindsWhatTheMachinesOwnerSaved) {
  const std::string shared = folder_ + "/shared";
  const TunedStore owners(shared + "/hearth/tuned", {});
  const TunedLock lock = owners.lock();
  owners.save(tuned_);
  const std::map<std::string, std::string> values = {{"XDG_CONFIG_HOME", folder_ + "/own"},
                                                     {"XDG_CONFIG_DIRS", "/none:" + shared}};
  const TunedStore store = TunedStore::of_environment([&](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
  EXPECT_EQ(store.find(tuned_.machine, tuned_.model).tuned, tuned_);
}

}  // namespace
}  // namespace hearth
