#include "memory/arena.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hearth {
namespace {

bool is_zero(const std::byte* data, size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(ArenaTest, AllocatesInOrderAndAligned) {
  Arena arena(Machine::live(), 0, 10000, "test");
  EXPECT_GE(arena.capacity(), 10000u);
  std::byte* a = arena.allocate(100);
  std::byte* b = arena.allocate(1, 1);
  std::byte* c = arena.allocate(100, 256);
  EXPECT_EQ(a, arena.data());
  EXPECT_EQ(b, a + 100);
  EXPECT_EQ(c, a + 256);
  EXPECT_EQ(arena.used(), 356u);
  EXPECT_TRUE(is_zero(a, arena.capacity()));
  std::fill_n(arena.data(), arena.capacity(), std::byte{0xff});
}

TEST(ArenaTest, LargeOnesAreAlignedForHugePages) {
  Machine machine = Machine::live();
  Arena arena(machine, 0, 5 << 20, "weights");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % kHugePageBytes, 0u);
  EXPECT_EQ(arena.capacity(), size_t{6} << 20) << "whole 2 MiB pages";
  std::fill_n(arena.allocate(5 << 20, kHugePageBytes), 5 << 20, std::byte{1});
  if (arena.page_kind() == PageKind::kSmall) {
    EXPECT_FALSE(arena.notes().empty()) << "small pages are explained";
  }
  // How many huge pages there are depends on the system, so only bounds are checked.
  EXPECT_LE(arena.huge_bytes(), arena.capacity());
  EXPECT_EQ(arena.huge_bytes() % kHugePageBytes, 0u);
}

TEST(ArenaTest, CountsItsOwnHugePagesOnly) {
  Machine machine = Machine::live();
  Arena touched(machine, 0, 8 << 20, "touched");
  Arena untouched(machine, 0, 8 << 20, "untouched");
  std::fill_n(touched.data(), touched.capacity(), std::byte{1});
  if (untouched.page_kind() == PageKind::kExplicitHuge) {
    GTEST_SKIP() << "explicit pages are touched at once";
  }
  EXPECT_EQ(untouched.huge_bytes(), 0u);
}

TEST(ArenaTest, MovesItsMemory) {
  Machine machine = Machine::live();
  Arena a(machine, 0, 4096, "a");
  std::byte* data = a.allocate(64);
  *data = std::byte{42};
  Arena b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.used(), 64u);
  Arena c(machine, 0, 4096, "c");
  c = std::move(b);
  EXPECT_EQ(*c.data(), std::byte{42});
  EXPECT_EQ(c.name(), "a");
}

TEST(ArenaTest, EmptyHoldsNothing) {
  Arena arena(Machine::live(), 0, 0, "none");
  EXPECT_EQ(arena.capacity(), 0u);
  EXPECT_EQ(arena.huge_bytes(), 0u);
}

TEST(ArenaTest, AbsurdSizeIsAnError) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 60}) {
    try {
      Arena arena(Machine::live(), 0, bytes, "weights");
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResource);
      EXPECT_NE(std::string(error.what()).find("weights"), std::string::npos);
    }
  }
}

TEST(ArenaDeathTest, OverflowIsABug) {
  Arena arena(Machine::live(), 0, 4096, "test");
  arena.allocate(4000);
  EXPECT_DEATH(arena.allocate(200), "planned to fit");
  EXPECT_DEATH(arena.allocate(SIZE_MAX), "planned to fit");
}

TEST(ArenaDeathTest, TheEndIsGuarded) {
  Arena arena(Machine::live(), 0, kHugePageBytes, "test");
  if (arena.page_kind() == PageKind::kExplicitHuge) GTEST_SKIP() << "explicit pages have no guard";
  volatile std::byte* end = arena.data() + arena.capacity();
  EXPECT_DEATH(*end = std::byte{1}, "");
}

// Makes a machine of two nodes: a real one, and one with a number that the kernel does not know. So
// even a computer with one node binds memory to the first, and refuses to bind to the second.
Machine two_nodes() {
  Machine machine = Machine::live();
  NumaNode other = machine.nodes[0];
  other.os_index = 1000;
  other.free_2m = 0;
  machine.nodes.resize(1);
  machine.nodes[0].free_2m = 0;
  machine.nodes.push_back(other);
  machine.distances = {{10, 20}, {20, 10}};
  return machine;
}

TEST(ArenaTest, BindsToItsNode) {
  Machine machine = two_nodes();
  Arena arena(machine, 0, 1 << 20, "bound");
  if (!arena.bound()) {
    ASSERT_FALSE(arena.notes().empty());
    // An emulator or a container may lack the call; any other refusal would mean a wrong call.
    bool forbidden = arena.notes()[0].find("not implemented") != std::string::npos ||
                     arena.notes()[0].find("not permitted") != std::string::npos;
    ASSERT_TRUE(forbidden) << arena.notes()[0];
    GTEST_SKIP() << arena.notes()[0];
  }
  int mode = -1;
  unsigned long mask[16] = {};
  if (syscall(SYS_get_mempolicy, &mode, mask, sizeof(mask) * 8, arena.data(), MPOL_F_ADDR) != 0) {
    GTEST_SKIP() << "the kernel doesn't tell policies";
  }
  EXPECT_EQ(mode, MPOL_BIND);
  EXPECT_EQ(mask[0], 1ul << machine.nodes[0].os_index);
}

TEST(ArenaTest, RefusedBindingIsANote) {
  Arena arena(two_nodes(), 1, 1 << 20, "weights");
  EXPECT_FALSE(arena.bound());
  ASSERT_EQ(arena.notes().size(), 1u);
  EXPECT_NE(arena.notes()[0].find("weights could not be bound to NUMA node 1000"),
            std::string::npos)
      << arena.notes()[0];
  std::fill_n(arena.data(), arena.capacity(), std::byte{1});
}

TEST(ArenaTest, NodeWithoutMemoryUsesTheNearest) {
  Machine machine = two_nodes();
  machine.nodes[1].memory_bytes = 0;
  Arena arena(machine, 1, 1 << 20, "scratch");
  EXPECT_EQ(arena.node(), 0u);
  ASSERT_FALSE(arena.notes().empty());
  EXPECT_NE(arena.notes()[0].find("node 1000 has no memory"), std::string::npos);
}

TEST(ArenaTest, InventedNodesAreNotBound) {
  Arena arena(Machine::invented(4, 1), 3, 1 << 20, "test");
  EXPECT_FALSE(arena.bound());
  EXPECT_EQ(arena.node(), 3u);
}

template <typename Make>
std::string error_text(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResource);
    return error.what();
  }
  return "";
}

TEST(CheckMemoryTest, NamesTheFigures) {
  Machine machine;
  machine.memory_available = 3ull << 30;
  EXPECT_EQ(error_text([&] { check_memory(3ull << 30, "the model", machine); }), "");
  std::string text = error_text([&] { check_memory(10ull << 30, "the model", machine); });
  EXPECT_NE(text.find("the model needs 10.00 GiB, and 3.00 GiB are available: use"),
            std::string::npos)
      << text;
  machine.memory_limit = 4ull << 30;
  text = error_text([&] { check_memory(10ull << 30, "the model", machine); });
  EXPECT_NE(text.find("cgroup's limit is 4.00 GiB"), std::string::npos) << text;
  machine.source = MachineSource::kDescribed;
  EXPECT_EQ(error_text([&] { check_memory(10ull << 30, "the model", machine); }), "");
}

TEST(CheckMemoryTest, OneNode) {
  Machine machine = two_nodes();
  machine.nodes[0].available_bytes = 1 << 30;
  machine.nodes[1].available_bytes = 0;
  EXPECT_EQ(error_text([&] { check_node_memory(1 << 30, "shard 0", machine, 0); }), "");
  EXPECT_NE(error_text([&] {
              check_node_memory(2u << 30, "shard 0", machine, 0);
            }).find("shard 0 needs 2.00 GiB on NUMA node"),
            std::string::npos);
  EXPECT_EQ(error_text([&] { check_node_memory(2u << 30, "shard 1", machine, 1); }), "")
      << "a node that doesn't tell";
}

}  // namespace
}  // namespace hearth
