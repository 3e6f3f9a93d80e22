#include "topology/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "topology/system_memory.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Makes a directory that stands for "/", and removes it at the end.
class CgroupTest : public testing::Test {
 protected:
  CgroupTest()
      : root_(fs::path(testing::TempDir()) /
              ("hearth_cgroup_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(root_);
  }
  ~CgroupTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  void use_v2(const std::string& path, const std::string& mount_root = "/") {
    write("proc/self/cgroup", "0::" + path + "\n");
    write("proc/self/mountinfo",
          "21 1 0:5 / /proc rw - proc proc rw\n"
          "30 23 0:26 " +
              mount_root + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    fs::create_directories(root_ / "sys/fs/cgroup");
  }

  void use_v1(const std::string& path, const std::string& mount_root = "/") {
    write("proc/self/cgroup",
          "12:memory:" + path + "\n4:cpu,cpuacct:" + path + "\n1:name=systemd:/\n");
    write("proc/self/mountinfo",
          "32 31 0:29 " + mount_root +
              " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
              "33 31 0:30 " +
              mount_root +
              " /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
              "35 31 0:32 " +
              mount_root + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }

  CgroupLimits read() const { return read_cgroup_limits(root_); }

  fs::path root_;
};

TEST_F(CgroupTest, NothingThereIsNoLimit) {
  CgroupLimits limits = read();
  EXPECT_FALSE(limits.cpu_quota || limits.memory_limit || limits.memory_left);
}

TEST_F(CgroupTest, Version2) {
  use_v2("/app.slice/hearth");
  write("sys/fs/cgroup/app.slice/hearth/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/app.slice/hearth/memory.max", "1000000\n");
  write("sys/fs/cgroup/app.slice/hearth/memory.current", "600000\n");
  write("sys/fs/cgroup/app.slice/hearth/memory.stat",
        "anon 100000\nfile 500000\ninactive_file 300000\nactive_file 50000\n");
  CgroupLimits limits = read();
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 2.5);
  EXPECT_EQ(limits.memory_limit, 1000000u);
  EXPECT_EQ(limits.memory_left, 1000000u - (600000u - 350000u));
}

TEST_F(CgroupTest, Version2UnlimitedSaysMax) {
  use_v2("/a");
  write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/a/memory.max", "max\n");
  CgroupLimits limits = read();
  EXPECT_FALSE(limits.cpu_quota || limits.memory_limit || limits.memory_left);
}

TEST_F(CgroupTest, Version2TheTightestAncestorBinds) {
  use_v2("/a/b/c");
  write("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/a/cpu.max", "150000 50000\n");
  write("sys/fs/cgroup/a/b/memory.max", "4096000\n");
  write("sys/fs/cgroup/a/b/memory.high", "2048000\n");
  write("sys/fs/cgroup/a/memory.max", "8192000\n");
  CgroupLimits limits = read();
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 3.0);
  EXPECT_EQ(limits.memory_limit, 2048000u);
}

TEST_F(CgroupTest, Version1) {
  use_v1("/docker/abc");
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "7000\n");
  write("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "5000\n");
  write("sys/fs/cgroup/memory/docker/memory.stat",
        "inactive_file 1\ntotal_inactive_file 900\ntotal_active_file 100\n");
  CgroupLimits limits = read();
  EXPECT_DOUBLE_EQ(limits.cpu_quota.value(), 4.0);
  EXPECT_EQ(limits.memory_limit, 7000u);
  EXPECT_EQ(limits.memory_left, 3000u);
}

TEST_F(CgroupTest, Version1UnlimitedQuotaIsNegative) {
  use_v1("/x");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(read().cpu_quota);
}

TEST_F(CgroupTest, ContainerSeesItsPartMounted) {
  // A container's mount has /docker/abc as its root, while the process's path is the host's.
  use_v1("/docker/abc", "/docker/abc");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(read().cpu_quota.value(), 0.5);
}

TEST_F(CgroupTest, PathOutsideOfWhatIsMounted) {
  for (const char* path : {"/host/only/here", "/../../elsewhere"}) {
    use_v2(path);
    write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    write("elsewhere/cpu.max", "1000 100000\n");
    EXPECT_DOUBLE_EQ(read().cpu_quota.value(), 1.0) << path;
  }
}

TEST_F(CgroupTest, EscapedMountPoint) {
  write("proc/self/cgroup", "0::/\n");
  write("proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  write("my groups/cpu.max", "100000 50000\n");
  EXPECT_DOUBLE_EQ(read().cpu_quota.value(), 2.0);
}

TEST_F(CgroupTest, GarbageIsNoLimit) {
  use_v2("/a");
  write("proc/self/cgroup", "\n:\n0\n0:\n0::/a\n");
  write("sys/fs/cgroup/a/cpu.max", "lots\n");
  write("sys/fs/cgroup/a/memory.max", "\n");
  write("sys/fs/cgroup/cpu.max", "0 0\n");
  CgroupLimits limits = read();
  EXPECT_FALSE(limits.cpu_quota || limits.memory_limit);
}

TEST_F(CgroupTest, UsageAboveTheLimitLeavesNothing) {
  use_v2("/");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "1500\n");
  EXPECT_EQ(read().memory_left, 0u);
}

TEST_F(CgroupTest, SystemMemory) {
  write("proc/meminfo",
        "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable:   64 kB\nActive(file): 5 kB\n");
  EXPECT_EQ(read_available_memory(root_), 64u << 10);
  EXPECT_EQ(read_thp_mode(root_), ThpMode::kUnavailable);
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(read_thp_mode(root_), ThpMode::kMadvise);
  write("sys/devices/system/node/node3/meminfo",
        "Node 3 MemFree:  20 kB\nNode 3 Active(file): 4 kB\nNode 3 Inactive(file): 3 kB\n");
  write("sys/devices/system/node/node3/hugepages/hugepages-2048kB/free_hugepages", "7\n");
  NumaNode node;
  node.os_index = 3;
  read_node_memory(root_, false, &node);
  EXPECT_EQ(node.available_bytes, 27u << 10);
  EXPECT_EQ(node.free_2m, 7u);
  EXPECT_EQ(node.free_1g, 0u);
  NumaNode only;
  read_node_memory(root_, true, &only);
  EXPECT_EQ(only.available_bytes, 15u << 10) << "a kernel without nodes";
}

}  // namespace
}  // namespace hearth
