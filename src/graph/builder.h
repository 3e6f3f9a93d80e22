// GraphBuilder appends ops in execution order. A value lives from the node that writes it to the
// last node that reads it, and `finish` lays values out so that no two that are alive at the same
// time share memory. So activation memory doesn't depend on the number of layers.
//
// A value that another group reads stays until all groups have met again: its own group may run
// ahead until then, but no further. Groups meet at the next kReduce, after a kReduce that says
// meet_after, and at the graph's end. So two reduces that follow each other have their partial sums
// in different memory.
//
// A group may write into another group's value at once, but only in a kReduce that says meet_after.
// All groups met before that node, and no group reads in that node a value that other groups still
// write.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace hearth {

// Says which values of a parallel bundle a node reads if its mode crosses groups: those of all
// groups that the mode connects it to (kAsMode), or its own group's alone (kOwn).
enum class Reads : uint8_t { kAsMode, kOwn };

class GraphBuilder {
 public:
  // `max_items`: the most items of a step; needed where the graph has values of RowSet::kPages.
  GraphBuilder(const Plan& plan, const Kernels& kernels, uint32_t max_outputs,
               uint32_t max_items = 0);

  const Plan& plan() const { return graph_.plan; }
  const Kernels& kernels() const { return graph_.kernels; }
  uint32_t group_count() const { return graph_.plan.group_count(); }

  // Sets the table that products' schedules are taken from; it must outlive finish(). Without one
  // the defaults are used.
  void set_schedules(const ScheduleTable& schedules) { schedules_ = &schedules; }
  const ScheduleTable& schedules() const { return *schedules_; }

  // Sets how many experts a token chooses, the same in all layers with experts. To be called before
  // values of RowSet::kChoices are added.
  void set_chosen(uint32_t experts) { graph_.chosen = experts; }

  // Nodes appended from here on carry this layer; -1 outside the layers.
  void set_layer(int layer) { layer_ = layer; }

  // Adds one value of one group. Its formats are those that its readers ask for.
  ValueId add_value(RowSet rows, uint32_t width, uint32_t group);
  // Adds a value per group, of the widths given (one for serial).
  Bundle add_values(RowSet rows, const std::vector<uint32_t>& widths, bool parallel = true);
  // reads() and writes() declare what the node appended next reads, in `format`, and writes. The
  // node that writes a value makes every format that its readers ask for.
  void reads(const Bundle& bundle, ActFormat format, Reads whose = Reads::kAsMode);
  void writes(const Bundle& bundle);
  void append(Mode mode, std::string name, std::vector<std::unique_ptr<Op>> instances);
  // Removes the barrier after the node appended last. The next node must read none of that node's
  // results, and use other memory.
  void no_barrier();
  // Makes all groups meet once more after the node appended last, a kReduce that wrote into values
  // of other groups.
  void meet_after();

  // Ends the graph. The last node needs no barrier: the end of the team's job is one.
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
  std::vector<ValueId> cross_read_;  // read by other groups since the last meeting of all
};

}  // namespace hearth
