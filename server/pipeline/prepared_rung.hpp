// One rung of a plan's ladder, ready to run: its geometry and schedule, layers prepared with their weights,
// every buffer at its place. The bytes are those of the very schedule the planner compared with the limit.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "planner/layers/ladder.hpp"
#include "server/pipeline/call_observer.hpp"
#include "server/pipeline/history.hpp"
#include "server/pipeline/schedule_memory.hpp"
#include "server/volume/stitcher.hpp"

namespace znni {

class PreparedRung {
 public:
  // Reserves the persistent buffers from `device`, one reservation each, and prepares every call. `transient`
  // holds design.packing.bytes bytes, aligned to buffer_alignment; it and `weights` must outlive the rung.
  // `poison` as in Arena. Leaves `transient` untouched.
  [[nodiscard]] static Result<PreparedRung> open(RungDesign design, const NetworkWeights& weights, std::byte* transient,
                                                 Device& device, bool poison = false);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const Stitcher& stitcher() const { return stitcher_; }
  // The planar input of a pass, of a streamed net the new planes alone, to be filled before run_pass() where the pass
  // reads a new window, and its planar output, valid until the next.
  [[nodiscard]] const TensorView& input() const { return input_; }
  [[nodiscard]] const TensorView& output() const { return output_; }
  // Tells a network that pads where the patches of the next pass begin in the framed volume of extent `volume`; both
  // are counted as in the geometry. Without it nothing outside is set, as when layers are timed.
  void place(std::span<const Vec3> starts, Vec3 volume);
  // Runs the calls of pass `pass` in order and tells `observer` of each. Passes are run in their order, all those of
  // a window, since they leave values to each other. `cancelled` when `stop` asks for it between two calls.
  [[nodiscard]] Result<void> run_pass(std::size_t pass, const std::stop_token& stop, const CallObserver& observer = {});
  // Of a streamed net: the next step is the first of its stream. Steps are run in their order, all passes of each,
  // those of one turn until the next stream begins. The first do without nodes that would write nothing of use
  // (Histories::idle), unless all shall be `whole`.
  void forget(bool whole = false);

  // Transient bytes of one call: what its estimate declares, and what its arena has seen so far.
  struct CallMemory {
    std::int64_t declared_peak = 0;
    std::int64_t high_water = 0;
  };
  [[nodiscard]] std::vector<CallMemory> call_memory() const;
  [[nodiscard]] std::int64_t persistent_bytes() const { return memory_.persistent_bytes(); }

 private:
  // One call with all it needs: no tensor memory is reserved while it runs; small bookkeeping is.
  struct Task {
    std::string name;  // "node 3: cpu.conv.direct"
    std::unique_ptr<Arena> arena;
    std::unique_ptr<PreparedLayer> layer;
    std::vector<TensorView> inputs;
    TensorView output;
    std::int64_t declared_peak = 0;
    int node = 0;
    Seconds predicted = 0;
    int held = -1;  // as Call::held, reads_slab, writes_slab: the view is then set anew before each run, from the whole
    bool reads_slab = false;
    bool writes_slab = false;
    TensorView whole_input;
    TensorView whole_output;
    int history = -1;         // of its output, complete after this call
    TensorView with_margins;  // its output and, along closed axes, the margins around
    Border outside;           // of its output, set behind the call to what the kind says
    OutsideKind outside_kind = OutsideKind::zero;
    Reach reach;  // of its output
    int value = 0;
  };
  PreparedRung(const Geometry& geometry, ScheduleMemory memory, Executor& executor)
      : geometry_(geometry), stitcher_(geometry), memory_(std::move(memory)), executor_(&executor) {}
  void lay_histories(const Schedule& schedule);
  [[nodiscard]] Result<Task> prepare(const Call& call, const RungDesign& design, const NetworkWeights& weights,
                                     Device& device, bool poison) const;
  void set_views(const Call& call, const Schedule& schedule, Task& task) const;
  static void set_outside(const Call& call, const RungDesign& design, Task& task);
  // Returns the part of a tensor that a step writes: behind the planes of earlier steps, between the margins.
  [[nodiscard]] TensorView written_part(const ScheduledTensor& tensor) const;
  // Calls of steps of the nodes [first, last].
  [[nodiscard]] Result<void> run_nodes(int first, int last, const std::stop_token& stop, const CallObserver& observer);
  [[nodiscard]] Result<void> run_head(const std::stop_token& stop, const CallObserver& observer);
  [[nodiscard]] Result<void> run_task(Task& task) const;
  void finish(const Task& task);
  void fill_outside_of(const Task& task, const TensorView& view, std::int64_t before) const;
  [[nodiscard]] bool is_idle(int node) const;
  void roll(int history);
  void aim_at_slab(std::int64_t begin);

  Geometry geometry_;
  Stitcher stitcher_;
  ScheduleMemory memory_;
  std::vector<std::span<const float>> kernels_;  // per node, with axes exchanged; empty where they are not
  std::vector<Task> tasks_;
  std::vector<History> histories_;   // as in Schedule::histories
  std::int64_t planes_ = saturated;  // of the stream, to the end of the step that runs; saturated: it is whole
  int input_history_ = -1;           // of the planar input
  int head_history_ = -1;            // of the head's output, complete after its last slab
  Executor* executor_;               // the device's
  TensorView input_;
  TensorView output_;
  std::vector<Vec3> starts_;  // of the patches in the framed volume; empty: not placed
  Vec3 volume_;
};

}  // namespace znni
