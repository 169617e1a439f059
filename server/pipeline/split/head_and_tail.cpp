#include "server/pipeline/split/head_and_tail.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/network/swap_axes.hpp"
#include "server/pipeline/job/job_patches.hpp"
#include "server/pipeline/split/pipeline_state.hpp"
#include "server/pipeline/split/shared_stages.hpp"
#include "server/pipeline/split/stage_line.hpp"

namespace znni {
namespace {

// Item i is pass i % passes of batch i / passes; it lies in buffer i % 2 before the tail, and behind it. Batches of a
// streamed rung are steps: each side begins a column when its first one comes, whatever a job before left behind. The
// caller's thread alone calls the job's functions.
class HeadAndTail final : public PatchStrategy {
 public:
  HeadAndTail(JobPatches& patches, const PatchGrid& grid, Pipeline::State& state)
      : patches_(patches),
        grid_(grid),
        state_(state),
        targets_(static_cast<std::size_t>(S())),
        starts_(static_cast<std::size_t>(S())),
        placed_(static_cast<std::size_t>(S())),
        framed_(swap_axes(patches.job().input.volume.shape.n + state.frame.begin + state.frame.end,
                          state.geometry.choice.axis)) {}

  [[nodiscard]] std::int64_t next() const override { return first_of(next_); }

  void want_next() override { want(next_); }

  // Runs batches in a row until others want to run, or the planes of the next one are missing.
  Result<void> run(const std::stop_token& stop) override {
    gives_way_ = false;
    const auto tail = [this](std::int64_t item, const std::stop_token& ending) {
      Result<void> ran = run_tail(item, ending);
      times_.all.hand_in(times_.tail);
      return ran;
    };
    const auto head = [this](Handoff& to, const std::stop_token& ending) { return produce(to, ending); };
    const Result<HandoffIdle> idle = run_stage_line({head, tail, [this](std::int64_t i) { return finish(i); }}, stop);
    if (!idle && caller_failed_) state_.gpu_failure.reset();  // the GPU's failure, if any, is of a later item
    if (!idle) return idle.error();
    idle_.producer += idle->producer;
    idle_.consumer += idle->consumer;
    return {};
  }

  // Returns the times of the stages. Runs in the caller's thread.
  StageSeconds stages() override {
    times_.all.hand_in(times_.stitch);
    return times_.all.sum();
  }

  [[nodiscard]] HandoffIdle idle() const { return idle_; }

 private:
  [[nodiscard]] std::int64_t S() const { return state_.geometry.choice.S; }
  [[nodiscard]] std::int64_t passes() const { return static_cast<std::int64_t>(pass_count(state_.geometry)); }
  [[nodiscard]] std::int64_t items() const { return div_up(patches_.count(), S()) * passes(); }
  // Returns the first patch of an item's batch.
  [[nodiscard]] std::int64_t first_of(std::int64_t item) const { return item / passes() * S(); }
  [[nodiscard]] bool begins_batch(std::int64_t item) const { return item % passes() == 0; }
  [[nodiscard]] bool begins_stream(std::int64_t item) const {
    return begins_batch(item) && !patches_.patch(first_of(item)).continues;
  }
  [[nodiscard]] std::size_t pass_of(std::int64_t item) const {
    return static_cast<std::size_t>(patches_.patch(first_of(item)).phase * passes() + item % passes());
  }
  [[nodiscard]] std::int64_t end_of(std::int64_t item) const {
    return std::min(first_of(item) + S(), patches_.count());
  }
  static float* buffer_of(std::int64_t item, const std::array<Reservation, 2>& buffers) {
    return floats_of(buffers[static_cast<std::size_t>(item % 2)]);
  }

  // Produces items from next_ to the end, or to the end of the batch in which others wanted to run.
  Result<void> produce(Handoff& handoff, const std::stop_token& stop) {
    const std::int64_t begin = next_;
    for (std::int64_t item = begin; item < items(); ++item) {
      if (Result<void> room = handoff.wait_for_room(stop); !room) return room;
      if (begins_batch(item)) {
        if (gives_way_) return {};
        want(item);
        const bool may_rest = item > begin && patches_.job().schedule.between_patches;
        const Result<bool> came = may_rest ? wait_while_busy(handoff, stop) : wait(stop);
        if (!came) return came.error();
        if (!*came) return {};
      }
      Result<void> made = make(item, stop);
      times_.all.hand_in(times_.head);
      if (!made) return made;
      handoff.deliver(item);
    }
    return {};
  }

  // Makes what crosses the cut for item `item`.
  Result<void> make(std::int64_t item, const std::stop_token& stop) {
    const TensorView crosses = state_.crossing(buffer_of(item, state_.buffers.between));
    if (!state_.head) {
      read(item, crosses);
      return {};
    }
    if (begins_stream(item)) {
      if (Result<void> begun = state_.head->forget(); !begun) return begun;
    }
    float* const window = floats_of(state_.buffers.window);
    read(item, state_.head->new_planes(window));
    const StageTimer timer(times_.head.head);
    return state_.head->run(window, crosses, item % passes(), stop);
  }

  Result<bool> wait(const std::stop_token& stop) {
    if (Result<void> came = patches_.wait(stop); !came) return came.error();
    return true;
  }

  // Waits for the wanted planes. Returns false if the GPU, too, has nothing left to do by then: others need not wait
  // with this job.
  Result<bool> wait_while_busy(Handoff& handoff, const std::stop_token& stop) {
    if (patches_.is_here()) return wait(stop);  // at once; the source looks at its planes there
    std::stop_source idle;
    const std::stop_callback forward(stop, [&idle] { idle.request_stop(); });
    handoff.stop_when_idle(idle);
    const Result<void> came = patches_.wait(idle.get_token());
    if (came) return true;
    const bool rests = came.error().code == ErrorCode::cancelled && !stop.stop_requested();
    return rests ? Result<bool>(false) : Result<bool>(came.error());
  }

  // Wants the planes of an item's batch, and those of what is not delivered, with which another rung may have to go on.
  void want(std::int64_t item) { patches_.want(undelivered_, end_of(item)); }

  // Finds where the patches of an item begin in the framed volume.
  void find_starts(std::int64_t item, std::vector<Vec3>& starts) const {
    const Vec3 begin = state_.geometry.read_begin + state_.geometry.passes[pass_of(item)].shift;
    for (std::int64_t s = 0; s < S(); ++s) {
      starts[static_cast<std::size_t>(s)] = patches_.patch(first_of(item) + s).start + begin;
    }
  }

  void read(std::int64_t item, const TensorView& to) {
    const StageTimer timer(times_.head.gather);
    find_starts(item, starts_);
    for (Vec3& start : starts_) start = start - state_.frame.begin;  // in the volume itself
    patches_.read(starts_, to, state_.reader ? *state_.reader : state_.cpu.executor());
  }

  Result<void> run_tail(std::int64_t item, const std::stop_token& stop) {
    const StageTimer timer(times_.tail.tail);
    if (state_.tail) {
      find_starts(item, placed_);
      state_.tail->place(placed_, framed_);
    }
    return state_.run_gpu(buffer_of(item, state_.buffers.between), buffer_of(item, state_.buffers.output),
                          item % passes(), begins_stream(item), stop);
  }

  void stitch(std::int64_t item) {
    const StageTimer timer(times_.stitch.stitch);
    const TensorView output = dense_view(buffer_of(item, state_.buffers.output), state_.geometry.values.back());
    patches_.stitch(pass_of(item), output, targets_, state_.writer ? *state_.writer : state_.gpu.executor());
  }

  Result<void> finish(std::int64_t item) {
    Result<void> done = begins_batch(item) ? patches_.aim(first_of(item), targets_) : Result<void>();
    if (done) stitch(item);
    if (done) done = begins_batch(item + 1) ? deliver(item) : tell_under_way(item);
    caller_failed_ = !done;
    if (!done) return done;
    next_ = item + 1;
    const JobSchedule& schedule = patches_.job().schedule;
    if (begins_batch(next_) && schedule.between_patches) {
      gives_way_ = !schedule.wanted || schedule.wanted({patches_.patch(next()).continues});
    }
    return {};
  }

  // Tells of a part of a batch that has more passes.
  Result<void> tell_under_way(std::int64_t item) {
    const double share = static_cast<double>(item % passes() + 1) / static_cast<double>(passes());
    patches_.tell_under_way(share * static_cast<double>(end_of(item) - first_of(item)));
    return {};
  }

  // Delivers the batch that ends with `item`.
  Result<void> deliver(std::int64_t item) {
    if (Result<void> delivered = patches_.deliver(end_of(item), stages()); !delivered) return delivered;
    for (const GridRow& row : grid_.rows) {
      if (row.end <= patches_.done() && row.end < patches_.count()) undelivered_ = row.end;
    }
    return {};
  }

  // Since it was handed in: of the head's thread, of the tail's and of the caller's.
  struct Times {
    StageSeconds head;
    StageSeconds tail;
    StageSeconds stitch;
    SharedStages all;
  };

  JobPatches& patches_;
  const PatchGrid& grid_;
  Pipeline::State& state_;
  std::vector<StitchTarget> targets_;
  std::vector<Vec3> starts_;    // the head's
  std::vector<Vec3> placed_;    // the tail's
  Vec3 framed_;                 // extent of the framed volume, axes as in the geometry
  std::int64_t next_ = 0;       // item to be finished: where the head begins
  bool caller_failed_ = false;  // one of its functions did, of the last item
  std::atomic<bool> gives_way_ = false;
  std::atomic<std::int64_t> undelivered_ = 0;  // patch: the first of the rows that are not delivered
  HandoffIdle idle_;
  Times times_;
};

}  // namespace

Result<PipelineStatistics> run_head_and_tail(const VolumeJob& job, PlaneSource& source, const Shape5& output,
                                             std::int64_t max_planes, Pipeline::State& state,
                                             const std::stop_token& stop) {
  const PatchGrid grid = job_grid(job, state.geometry, state.fov, max_planes, 1, state.frame);
  InputWindow input(source, grid, state.geometry, true, state.frame.begin.z);
  JobPatches patches(job, grid, state.geometry, output, std::move(input));
  HeadAndTail strategy(patches, grid, state);
  if (Result<void> ran = patches.run(strategy, stop); !ran) return ran.error();
  PipelineStatistics statistics;
  statistics.job.patches = patches.count();
  statistics.job.stages = strategy.stages();
  statistics.idle = strategy.idle();
  return statistics;
}

}  // namespace znni
