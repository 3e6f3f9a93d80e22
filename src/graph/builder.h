// GraphBuilder: ops are appended in execution order; values live from the node that writes them to
// the last that reads them, and `finish` lays them out so that values alive at the same time don't
// share memory. The activation memory so needed doesn't depend on the number of layers.
//
// A value that another group reads stays until all groups have met again (the next kReduce, the end
// of one that says meet_after, or the end): its own group may run ahead, but no further than that.
// So of two reduces that follow each other each has partial sums in memory of its own.
//
// Who writes into another group's value (only in a kReduce that says meet_after) may do so at once:
// all groups met before it, and what a group still reads then is no longer what it writes itself.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace hearth {

// Whose values of a parallel bundle a node of a crossing mode reads.
enum class Reads : uint8_t { kAsMode, kOwn };

class GraphBuilder {
 public:
  GraphBuilder(const Plan& plan, const Kernels& kernels, uint32_t max_outputs);

  const Plan& plan() const { return graph_.plan; }
  const Kernels& kernels() const { return graph_.kernels; }
  uint32_t group_count() const { return graph_.plan.group_count(); }

  // Nodes appended from here on carry this layer; -1 outside the layers.
  void set_layer(int layer) { layer_ = layer; }

  // One value of one group, in no format until somebody reads it.
  ValueId add_value(RowSet rows, uint32_t width, uint32_t group);
  // A value per group, of the widths given (one for serial).
  Bundle add_values(RowSet rows, const std::vector<uint32_t>& widths, bool parallel = true);
  // The node that is appended next reads `bundle` in `format` (the node that writes it makes every
  // format that is asked for), or writes it.
  void reads(const Bundle& bundle, ActFormat format, Reads whose = Reads::kAsMode);
  void writes(const Bundle& bundle);
  void append(Mode mode, std::string name, std::vector<std::unique_ptr<Op>> instances);
  // The last node appended needs no barrier of its group after it: the next one reads nothing of it
  // and uses other memory.
  void no_barrier();
  // After the last node appended, a kReduce, all groups meet again: it wrote into values of other
  // groups.
  void meet_after();

  // The last node needs no barrier: the end of the team's job is one.
  Graph finish() &&;

 private:
  uint32_t next_node() const { return static_cast<uint32_t>(graph_.nodes.size()); }
  void extend_cross_reads(uint32_t node);
  void place_values();

  Graph graph_;
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
