// GraphBuilder appends ops in execution order. A value lives from the node that writes it to the
// last node that reads it. finish() lays values out so that values that are alive at the same time
// never share memory. So activation memory doesn't depend on the number of layers.
//
// A value that another group reads keeps its memory until all groups have met again. Until then the
// reading group may be behind the group that wrote the value. Groups meet at the next kReduce,
// after a kReduce that says meet_after, and at the graph's end. So two reduces that follow each
// other have their partial sums in different memory.
//
// A group may write into another group's value only in a kReduce that says meet_after. All groups
// met before that node, and no group reads in that node a value that other groups still write.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace hearth {

// Says which values of a parallel bundle a node reads if its mode crosses groups. kAsMode: the
// values of all groups that the mode connects it to. kOwn: only its own group's value.
enum class Reads : uint8_t { kAsMode, kOwn };

class GraphBuilder {
 public:
  // `max_items`: the most items of a step; needed if the graph has values of RowSet::kPages.
  GraphBuilder(const Plan& plan, const Kernels& kernels, uint32_t max_outputs,
               uint32_t max_items = 0);

  const Plan& plan() const { return graph_.plan; }
  const Kernels& kernels() const { return graph_.kernels; }
  uint32_t group_count() const { return graph_.plan.group_count(); }

  // Sets the table that products' schedules are taken from; it must outlive finish(). Without a
  // table all products get the default schedules.
  void set_schedules(const ScheduleTable& schedules) { schedules_ = &schedules; }
  const ScheduleTable& schedules() const { return *schedules_; }

  // Sets how many experts a token chooses, the same number in all layers with experts. Must be
  // called before values of RowSet::kChoices are added.
  void set_chosen(uint32_t experts) { graph_.chosen = experts; }

  // Sets the layer of the nodes that are appended after this call; -1 outside the layers.
  void set_layer(int layer) { layer_ = layer; }

  // Adds one value of one group. Its formats are those that its readers ask for.
  ValueId add_value(RowSet rows, uint32_t width, uint32_t group);
  // Adds a value per group, of the widths given (one for serial).
  Bundle add_values(RowSet rows, const std::vector<uint32_t>& widths, bool parallel = true);
  // reads() and writes() declare which values the node appended next reads, and in which `format`,
  // and which values it writes. A node makes a value that it writes in every format that the
  // value's readers ask for.
  void reads(const Bundle& bundle, ActFormat format, Reads whose = Reads::kAsMode);
  void writes(const Bundle& bundle);
  void append(Mode mode, std::string name, std::vector<std::unique_ptr<Op>> instances);
  // Removes the barrier after the node appended last. The next node must not read that node's
  // results, nor write memory that it uses.
  void no_barrier();
  // Makes all groups meet once more after the node appended last, a kReduce that wrote into values
  // of other groups.
  void meet_after();

  // Ends the graph. The last node needs no barrier, since all threads wait for each other at the
  // end of the team's job.
  Graph finish() &&;

 private:
  uint32_t next_node() const { return static_cast<uint32_t>(graph_.nodes.size()); }
  void extend_cross_reads(uint32_t node);
  void place_values();

  static inline const ScheduleTable kNoSchedules{};

  Graph graph_;
  const ScheduleTable* schedules_ = &kNoSchedules;
  int layer_ = -1;
  struct Read {
    ValueId value;
    Reads whose;
  };
  std::vector<Read> pending_reads_;
  std::vector<ValueId> pending_writes_;
  std::vector<ValueId> cross_read_;  // values that other groups read since all groups last met
};

}  // namespace hearth
