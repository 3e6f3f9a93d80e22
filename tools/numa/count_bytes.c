// A TCG plugin for QEMU: counts the bytes that user-space code on each CPU loads and stores, by
// 4 MiB granules of the machine's memory. tools/numa/count_remote.py makes nodes of granules.
//
//   gcc -O2 -shared -fPIC count_bytes.c -o count_bytes.so
//   qemu-system-x86_64 ... -plugin count_bytes.so,out=bytes.txt
//
// A stretch ends with a user-space load at physical address 0xe0000000, where there is no memory.
// The counts of the stretch are then written to `out`, a line for each CPU and granule that has
// any, and start from zero:
//
//   STRETCH CPU GRANULE LOADED STORED FETCHED
//
// LOADED and STORED count the bytes of every access. FETCHED counts the 64 bytes of a line for
// every load that misses a simulated cache of the CPU's own. The cache has CACHE_SETS x CACHE_WAYS
// lines and evicts the least recently used; a store by another CPU drops the line. An access counts
// as user space by its address, so copies that the kernel makes for a program are included.
//
// QEMU 7.2 comes without qemu-plugin.h. The names used are declared here, as its documentation of
// TCG plugins gives them. A granule is a range of the address that QEMU calls physical. Where each
// node has a memory backend of its own, QEMU 7.2 adds the beginning of the node's memory to it
// twice.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_info;
typedef void (*cpu_callback)(uint64_t id, unsigned cpu);
typedef void (*block_callback)(uint64_t id, struct qemu_plugin_tb *block);
typedef void (*access_callback)(unsigned cpu, uint32_t info, uint64_t address, void *context);
enum { NO_REGISTERS = 0, LOADS_AND_STORES = 3 };

void qemu_plugin_register_vcpu_init_cb(uint64_t id, cpu_callback callback);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, block_callback callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, access_callback callback,
                                      int registers, int accesses, void *context);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *place);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { MAX_CPUS = 64, GRANULE_BITS = 22, GRANULES = 2048 };
// 512 KiB: a core's second-level cache on Kunpeng 920 and EPYC 7002.
enum { LINE_BITS = 6, CACHE_SETS = 1024, CACHE_WAYS = 8 };
static const uint64_t end_address = 0xe0000000, kernel_half = 1ull << 47;

struct counts {
  uint64_t loaded[GRANULES], stored[GRANULES], fetched[GRANULES];
} __attribute__((aligned(64)));

static struct counts counts[MAX_CPUS];
// Line numbers, the most recently used first. CPUs drop lines of others without a lock, so a line
// that is being moved at that moment may stay.
static uint64_t caches[MAX_CPUS][CACHE_SETS][CACHE_WAYS] __attribute__((aligned(64)));
static unsigned cpus;
static unsigned stretch;
static FILE *out;

static void end_stretch(void) {
  for (unsigned c = 0; c < MAX_CPUS; c++) {
    for (unsigned g = 0; g < GRANULES; g++) {
      uint64_t loaded = counts[c].loaded[g], stored = counts[c].stored[g];
      if (loaded || stored) {
        fprintf(out, "%u %u %u %llu %llu %llu\n", stretch, c, g, (unsigned long long)loaded,
                (unsigned long long)stored, (unsigned long long)counts[c].fetched[g]);
      }
    }
  }
  fflush(out);
  memset(counts, 0, sizeof counts);
  stretch++;
}

// Returns whether the CPU's cache has the line, and puts it there.
static bool use_line(unsigned cpu, uint64_t line) {
  uint64_t *set = caches[cpu][line % CACHE_SETS];
  unsigned way = 0;
  while (way < CACHE_WAYS - 1 && set[way] != line) way++;
  bool had = set[way] == line;
  memmove(set + 1, set, way * sizeof *set);
  set[0] = line;
  return had;
}

static void drop_line_of_others(unsigned cpu, uint64_t line) {
  for (unsigned c = 0; c < cpus; c++) {
    uint64_t *set = caches[c][line % CACHE_SETS];
    for (unsigned way = 0; c != cpu && way < CACHE_WAYS; way++) {
      if (set[way] == line) set[way] = 0;
    }
  }
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *context) {
  (void)context;
  if (address >= kernel_half || cpu >= MAX_CPUS) return;
  const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
  if (!place) return;
  uint64_t physical = qemu_plugin_hwaddr_phys_addr(place);
  if (qemu_plugin_hwaddr_is_io(place)) {
    if (physical == end_address) end_stretch();
    return;
  }
  uint64_t granule = physical >> GRANULE_BITS;
  if (granule >= GRANULES) return;
  uint64_t bytes = 1ull << qemu_plugin_mem_size_shift(info), line = physical >> LINE_BITS;
  bool had = use_line(cpu, line);
  if (qemu_plugin_mem_is_store(info)) {
    drop_line_of_others(cpu, line);
    counts[cpu].stored[granule] += bytes;
  } else {
    counts[cpu].loaded[granule] += bytes;
    if (!had) counts[cpu].fetched[granule] += 1 << LINE_BITS;
  }
}

static void on_cpu(uint64_t id, unsigned cpu) {
  (void)id;
  if (cpu < MAX_CPUS && cpu >= cpus) cpus = cpu + 1;
}

static void on_block(uint64_t id, struct qemu_plugin_tb *block) {
  (void)id;
  for (size_t i = 0, count = qemu_plugin_tb_n_insns(block); i < count; i++) {
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_access, NO_REGISTERS,
                                     LOADS_AND_STORES, NULL);
  }
}

EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv) {
  (void)info;
  if (argc == 1 && strncmp(argv[0], "out=", 4) == 0) out = fopen(argv[0] + 4, "w");
  if (!out) {
    fprintf(stderr, "count_bytes: give out=FILE, a file that can be written\n");
    return 1;
  }
  qemu_plugin_register_vcpu_init_cb(id, on_cpu);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
  return 0;
}
