// A segment of a rung on its place, ready to run: layers prepared with their weights, every buffer at its place. A rung
// on the CPU alone is one segment of all nodes. The bytes are those of the very schedule the planner compared with the
// limit. What crosses the cuts of a segment lies elsewhere: the caller says where, before each run.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/layers/ladder.hpp"
#include "server/pipeline/schedule/call_observer.hpp"
#include "server/pipeline/schedule/history.hpp"
#include "server/pipeline/schedule/outside.hpp"
#include "server/pipeline/schedule/place_devices.hpp"
#include "server/pipeline/schedule/schedule_memory.hpp"

namespace znni {

class PreparedSchedule {
 public:
  // Reserves transient and persistent memory of every space, and prepares every call. `weights` are the whole
  // network's; they and the devices must outlive it. `poison` as Arena::poison_with; may be empty.
  [[nodiscard]] static Result<PreparedSchedule> open(SegmentDesign design, const NetworkWeights& weights,
                                                     const PlaceDevices& devices, const Arena::Poison& poison = {});
  // Reserves the persistent buffers alone, one reservation each. `transient` holds design.packing.bytes bytes, aligned
  // to buffer_alignment, and must outlive it. Leaves `transient` untouched. All else is as above.
  [[nodiscard]] static Result<PreparedSchedule> open(RungDesign design, const NetworkWeights& weights,
                                                     std::byte* transient, const PlaceDevices& devices,
                                                     const Arena::Poison& poison = {});

  [[nodiscard]] const SegmentDesign& design() const { return design_; }
  [[nodiscard]] const Geometry& geometry() const { return design_.geometry; }

  // Return, of a rung, the planar input of a pass and its planar output, which is valid until the next. The input, of a
  // streamed net the new planes alone, must be filled before run_pass() if the pass reads a new window.
  [[nodiscard]] TensorView input() const { return written_part(0); }
  [[nodiscard]] const TensorView& output() const { return output_; }
  // Return whether passes of a rung may read their input, or write their output, in a volume's own memory: all layers
  // that do so are VolumeLayers, and nothing of the tensor is kept for later steps.
  [[nodiscard]] bool reads_volumes() const { return reads_volumes_; }
  [[nodiscard]] bool writes_volumes() const { return writes_volumes_; }
  // Has passes read this view instead of input(), and write that one instead of output(), until the next call. They are
  // of the same shapes, and lie in volumes or, where they are null, in the rung's own memory.
  void redirect(const TensorView* input, const TensorView* output);
  // Tells a network that pads where the patches of the next pass begin in the framed volume of extent `volume`; both
  // are counted as in the geometry. Without it nothing outside is set, as when layers are timed.
  void place(std::span<const Vec3> starts, Vec3 volume);
  // Runs the calls of pass `pass` of a rung in order and tells `observer` of each. Passes are run in their order, all
  // those of a window, because they leave values to each other. Fails with `cancelled` if `stop` asks for it between
  // two calls.
  [[nodiscard]] Result<void> run_pass(std::size_t pass, const std::stop_token& stop, const CallObserver& observer = {});

  // Runs one micro-batch of a segment, the `number`-th that runs in a patch: reads `input`, a dense tensor of
  // design().micro_batch_tensor(), of a stream with its new planes alone written; writes `output`. Both are planar, in
  // the memory of its place. On 'gpu' the work is given to the compute stream, and run_micro_batch() does not wait for
  // it. Fails with `cancelled` if `stop` asks for it between two calls.
  [[nodiscard]] Result<void> run_micro_batch(float* input, const TensorView& output, std::int64_t number,
                                             const std::stop_token& stop);

  // Begins a stream of a streamed net with the next step. Steps are run in their order, all passes of each, those of
  // one phase until the next stream begins. On 'gpu' this is given to the compute stream as well. The first steps of a
  // rung do without nodes that would write nothing of use (Histories::idle), unless all shall be `whole`.
  [[nodiscard]] Result<void> forget(bool whole = false);

  // Transient bytes of one call: what its estimate declares, and what its arena has seen so far.
  struct CallMemory {
    std::int64_t declared_peak = 0;
    std::int64_t high_water = 0;
  };
  [[nodiscard]] std::vector<CallMemory> call_memory() const;
  [[nodiscard]] std::int64_t persistent_bytes() const { return memory_.persistent_bytes(); }

 private:
  // Everything that a call of the schedule needs to run. No tensor memory is reserved then; small bookkeeping is.
  struct Task {
    std::string name;  // "node conv1: cpu.conv.direct"
    std::unique_ptr<Arena> arena;
    std::unique_ptr<PreparedLayer> layer;
    std::vector<TensorView> inputs;  // of the next run
    TensorView output;
    int history = -1;  // of its output, complete after this call
    ValueOutside outside;
    StackPlace place;
  };
  // The parts with which calls are prepared.
  struct Parts {
    std::span<const NodeWeights> weights;         // of the design's nodes
    std::vector<std::span<const float>> kernels;  // per node, with axes swapped; empty where they are not
    const PlaceDevices& devices;
    const Arena::Poison& poison;
  };
  PreparedSchedule(SegmentDesign design, ScheduleMemory memory, const PlaceDevices& devices);
  [[nodiscard]] static Result<PreparedSchedule> open_in(ScheduleMemory memory, SegmentDesign design,
                                                        const NetworkWeights& weights, const PlaceDevices& devices,
                                                        const Arena::Poison& poison);
  [[nodiscard]] Result<Task> prepare(const Call& call, const Parts& parts) const;
  void lay_histories();

  [[nodiscard]] const Step& step_of(const Call& call) const {
    return design_.steps[static_cast<std::size_t>(call.step)];
  }
  [[nodiscard]] std::string name_of(const Call& call) const;
  [[nodiscard]] const ScheduledTensor& tensor(int number) const;
  // Return a tensor as a whole; the part of it that its call writes, behind the planes of earlier steps and between the
  // margins; and the part that a call reads.
  [[nodiscard]] TensorView whole(int number) const;
  [[nodiscard]] TensorView written_part(int number) const;
  [[nodiscard]] TensorView read_part(const Call& call, std::size_t input) const;

  // Return what a rung reads and writes if it is not redirected.
  [[nodiscard]] TensorView own_input() const { return memory_.view(tensor(0)); }
  [[nodiscard]] TensorView own_output() const { return memory_.view(tensor(design_.schedule.output)); }
  void aim(const TensorView& input, const TensorView& output);
  [[nodiscard]] bool can_read_volumes() const;
  [[nodiscard]] bool can_write_volumes() const;
  void aim_at_held(const Pass& pass);
  void aim_at_slab(std::int64_t begin);

  [[nodiscard]] Result<void> run_window(const std::stop_token& stop, const CallObserver& observer);
  [[nodiscard]] Result<void> run_stem(const std::stop_token& stop, const CallObserver& observer);
  // Runs the calls of the nodes [first, last].
  [[nodiscard]] Result<void> run_nodes(int first, int last, const std::stop_token& stop, const CallObserver& observer);
  [[nodiscard]] Result<void> run_task(const Call& call, Task& task);
  [[nodiscard]] Result<void> finish(const Call& call, const Task& task);
  [[nodiscard]] Result<void> fill_outside(const ValueOutside& outside, const TensorView& view) const;
  [[nodiscard]] Result<void> roll(int history);
  [[nodiscard]] bool is_idle(int node) const;

  SegmentDesign design_;
  ScheduleMemory memory_;
  Executor* executor_;               // copies in host RAM
  Accelerator* gpu_;                 // of a segment on 'gpu'; else nullptr
  std::vector<Task> tasks_;          // as in Schedule::calls
  std::vector<History> histories_;   // as in Schedule::histories
  int input_history_ = -1;           // of the planar input
  int stem_history_ = -1;            // of the stem's output, complete after its last slab
  std::int64_t planes_ = saturated;  // of the stream, to the end of the step that runs; saturated: it is whole
  TensorView input_;                 // as a whole
  TensorView output_;
  bool reads_volumes_ = false;
  bool writes_volumes_ = false;
  bool is_redirected_ = false;
  PatchPositions positions_;
};

}  // namespace znni
