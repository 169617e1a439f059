#include "server/pipeline/pipeline.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/layers/segment_check.hpp"
#include "primitives/core/clock_time.hpp"
#include "server/pipeline/gain_meter.hpp"
#include "server/pipeline/gpu_failure.hpp"
#include "server/pipeline/input_window.hpp"
#include "server/pipeline/pipeline_state.hpp"
#include "server/pipeline/shared_stages.hpp"
#include "server/pipeline/slab_queue.hpp"
#include "server/pipeline/stage_line.hpp"
#include "server/volume/reader.hpp"

namespace znni {

namespace {

using Clock = std::chrono::steady_clock;

float* floats(const Reservation& block) { return reinterpret_cast<float*>(block.data()); }

// Where what crosses to the GPU's side is written, in one of the buffers between.
TensorView crossing(const Pipeline::State& state, float* buffer) {
  return state.middle ? state.middle->new_planes(buffer) : dense_view(buffer, state.tail->design().whole_input());
}

// The GPU's side begins a stream.
Result<void> forget_on_gpu(Pipeline::State& state) {
  Result<void> done = state.middle ? state.middle->forget() : Result<void>();
  return done && state.tail ? state.tail->forget() : done;
}

// Pass `pass` of what crosses to the GPU's side, through host RAM and the GPU, to `output`. `begins`: a stream.
Result<void> run_gpu(Pipeline::State& state, float* input, float* output, std::int64_t pass, bool begins,
                     const std::stop_token& stop) {
  float* const middle = state.middle && state.tail ? floats(state.middle_output) : output;
  Result<void> ran = begins ? forget_on_gpu(state) : Result<void>();
  if (ran && state.middle) {
    ran = state.middle->run(input, dense_view(middle, state.middle->design().whole_output()), pass, stop);
  }
  if (ran && state.tail) ran = state.tail->run(state.middle ? middle : input, output, pass, stop);
  if (ran || !is_gpu_failure(ran.error().code)) return ran;
  state.gpu_failure = with_cause(ran.error(), state.gpu);
  return *state.gpu_failure;
}

// One job. Item i is pass i % passes of batch i / passes; it lies in buffer i % 2 before the tail, and behind it.
// Batches of a streamed rung are steps: each side begins a column when its first one comes, whatever a job before
// left behind. The caller's thread alone calls the job's functions.
class PipelineRun {
 public:
  PipelineRun(const VolumeJob& job, PlaneSource& source, Pipeline::State& state, const Shape5& output,
              std::int64_t most_planes)
      : job_(job),
        state_(state),
        grid_(job_grid(job, state.geometry, state.fov, most_planes)),
        input_(source, grid_, state.geometry, true),
        slabs_(job, grid_, output),
        gain_(job, grid_, state.geometry.turns),
        targets_(static_cast<std::size_t>(S())),
        starts_(static_cast<std::size_t>(S())) {}

  // Batches in a row until others want to run, or planes are not here with which to go on; then those others, and on.
  Result<void> run(const std::stop_token& stop) {
    Result<void> ran = run_all(stop);
    tell_gain();  // the time of a batch that failed
    return ran;
  }

  [[nodiscard]] std::int64_t patches() const { return static_cast<std::int64_t>(grid_.patches.size()); }
  [[nodiscard]] HandoffIdle idle() const { return idle_; }
  [[nodiscard]] StageSeconds stages() const { return stages_.sum(); }

 private:
  Result<void> run_all(const std::stop_token& stop) {
    want(0);
    if (job_.schedule.between_patches && !input_.source().here()) {
      if (Result<void> came = job_.schedule.between_patches({}); !came) return came;
    }
    for (;;) {
      if (Result<void> ran = run_batches(stop); !ran) return ran;
      if (next_ == items()) return {};
      want(next_ / passes());
      if (Result<void> went_on = job_.schedule.between_patches(interval()); !went_on) return went_on;
    }
  }

  void tell_gain() {
    stages_.hand_in(stitch_stages_);
    gain_.tell(done_, stages_.sum());
  }

  [[nodiscard]] std::int64_t S() const { return state_.geometry.choice.S; }
  [[nodiscard]] std::int64_t passes() const { return static_cast<std::int64_t>(pass_count(state_.geometry)); }
  [[nodiscard]] std::int64_t items() const { return div_up(patches(), S()) * passes(); }
  [[nodiscard]] const PatchPlace& place(std::int64_t patch) const {
    return grid_.patches[static_cast<std::size_t>(std::min(patch, patches() - 1))];
  }
  [[nodiscard]] std::size_t pass_of(std::int64_t item) const {
    return static_cast<std::size_t>(place(item / passes() * S()).turn * passes() + item % passes());
  }
  // Before item next_, where a batch begins.
  [[nodiscard]] Interval interval() const { return {place(next_ / passes() * S()).continues}; }
  static float* buffer_of(std::int64_t item, const std::array<Reservation, 2>& buffers) {
    return floats(buffers[static_cast<std::size_t>(item % 2)]);
  }

  // From item next_ to the end, or to that of the batch in which others wanted to run.
  Result<void> run_batches(const std::stop_token& stop) {
    gives_way_ = false;
    const auto tail = [this](std::int64_t item, const std::stop_token& ending) {
      Result<void> ran = run_tail(item, ending);
      stages_.hand_in(tail_stages_);
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

  Result<void> produce(Handoff& handoff, const std::stop_token& stop) {
    const std::int64_t begin = next_;
    for (std::int64_t item = begin; item < items(); ++item) {
      if (Result<void> room = handoff.wait_for_room(stop); !room) return room;
      if (gives_way_ && item % passes() == 0) return {};
      if (item % passes() == 0) {
        want(item / passes());
        const Result<bool> came =
            item > begin && job_.schedule.between_patches ? wait_while_busy(handoff, stop) : wait(stop);
        if (!came) return came.error();
        if (!*came) return {};
      }
      Result<void> made = make(item, stop);
      stages_.hand_in(head_stages_);
      if (!made) return made;
      handoff.deliver(item);
    }
    return {};
  }

  // What crosses for item `item`.
  Result<void> make(std::int64_t item, const std::stop_token& stop) {
    const TensorView crosses = crossing(state_, buffer_of(item, state_.between));
    if (!state_.head) {
      read(item, crosses);
      return {};
    }
    if (begins_stream(item)) {
      if (Result<void> begun = state_.head->forget(); !begun) return begun;
    }
    read(item, state_.head->new_planes(floats(state_.window)));
    const StageTimer timer(head_stages_.head);
    return state_.head->run(floats(state_.window), crosses, item % passes(), stop);
  }

  [[nodiscard]] bool begins_stream(std::int64_t item) const {
    return item % passes() == 0 && !place(item / passes() * S()).continues;
  }

  Result<bool> wait(const std::stop_token& stop) {
    if (Result<void> came = input_.wait(stop); !came) return came.error();
    return true;
  }

  // For the wanted planes, or, false, until the GPU has nothing left to do either: others need not wait with this job.
  Result<bool> wait_while_busy(Handoff& handoff, const std::stop_token& stop) {
    if (input_.source().here()) return wait(stop);  // at once; the source looks at its planes there
    std::stop_source idle;
    const std::stop_callback forward(stop, [&idle] { idle.request_stop(); });
    handoff.stop_when_idle(idle);
    const Result<void> came = input_.wait(idle.get_token());
    if (came) return true;
    const bool rests = came.error().code == ErrorCode::cancelled && !stop.stop_requested();
    return rests ? Result<bool>(false) : Result<bool>(came.error());
  }

  // The planes of batch `batch`, and those of what is not delivered, with which another rung may have to go on.
  void want(std::int64_t batch) { input_.move_to(undelivered_, std::min((batch + 1) * S(), patches())); }

  void read(std::int64_t item, const TensorView& to) {
    const StageTimer timer(head_stages_.gather);
    const Vec3 begin = state_.geometry.read_begin + state_.geometry.passes[pass_of(item)].window;
    for (std::int64_t s = 0; s < S(); ++s) {
      starts_[static_cast<std::size_t>(s)] = place(item / passes() * S() + s).start + begin;
    }
    read_windows(input_.source(), job_.input.normalisation, starts_, to,
                 state_.reader ? *state_.reader : state_.cpu.executor(), state_.geometry.choice.axis);
  }

  Result<void> run_tail(std::int64_t item, const std::stop_token& stop) {
    const StageTimer timer(tail_stages_.tail);
    return run_gpu(state_, buffer_of(item, state_.between), buffer_of(item, state_.output), item % passes(),
                   begins_stream(item), stop);
  }

  void stitch(std::int64_t item) {
    const StageTimer timer(stitch_stages_.stitch);
    const TensorView output = dense_view(buffer_of(item, state_.output), state_.geometry.values.back());
    Executor& writer = state_.writer ? *state_.writer : state_.gpu.executor();
    state_.stitcher.stitch(pass_of(item), output, targets_, writer);
  }

  Result<void> finish(std::int64_t item) {
    Result<void> done = item % passes() == 0 ? slabs_.aim(item / passes() * S(), targets_) : Result<void>();
    if (done) stitch(item);
    if (done) done = item % passes() + 1 < passes() ? tell_part(item) : deliver(item);
    caller_failed_ = !done;
    if (!done) return done;
    next_ = item + 1;
    if (next_ % passes() == 0 && job_.schedule.between_patches)
      gives_way_ = !job_.schedule.wanted || job_.schedule.wanted(interval());
    return {};
  }

  // Of a batch that has more passes.
  Result<void> tell_part(std::int64_t item) {
    const std::int64_t first = item / passes() * S();
    const double share = static_cast<double>(item % passes() + 1) / static_cast<double>(passes());
    const auto under_way = static_cast<double>(std::min(S(), patches() - first));
    if (job_.account.progress) job_.account.progress({first, patches(), slabs_.planes_done(), share * under_way});
    return {};
  }

  // The batch that ends with `item`.
  Result<void> deliver(std::int64_t item) {
    done_ = std::min((item / passes() + 1) * S(), patches());
    tell_gain();
    if (Result<void> delivered = slabs_.deliver(done_); !delivered) return delivered;
    for (const GridRow& row : grid_.rows) {
      if (row.end <= done_ && row.end < patches()) undelivered_ = row.end;
    }
    if (job_.account.progress) job_.account.progress({done_, patches(), slabs_.planes_done(), 0});
    return {};
  }

  const VolumeJob& job_;
  Pipeline::State& state_;
  PatchGrid grid_;
  InputWindow input_;  // the head's
  SlabQueue slabs_;
  GainMeter gain_;
  std::int64_t done_ = 0;  // patches
  std::vector<StitchTarget> targets_;
  std::vector<Vec3> starts_;    // the head's
  std::int64_t next_ = 0;       // item to be finished: where the head begins
  bool caller_failed_ = false;  // one of its functions did, of the last item
  std::atomic<bool> gives_way_ = false;
  std::atomic<std::int64_t> undelivered_ = 0;  // patch: the first of the rows that are not delivered
  HandoffIdle idle_;
  StageSeconds head_stages_;  // of the head's thread, as the next of the tail's and the caller's, since handed in
  StageSeconds tail_stages_;
  StageSeconds stitch_stages_;
  SharedStages stages_;
};

Result<void> reserve(Device& device, MemorySpace space, const Shape5& shape, const char* purpose, Reservation& to) {
  Result<Reservation> block = device.reserve(space, tensor_bytes(shape, {}), purpose);
  if (!block) return block.error();
  to = std::move(*block);
  return {};
}

// Host memory for a stage that reads or writes it, pinned memory for one that copies.
Result<void> reserve_tensors(Pipeline::State& state) {
  const auto on_link = [&](bool copied, const Shape5& shape, const char* purpose, Reservation& to) {
    return copied ? reserve(state.gpu, MemorySpace::pinned, shape, purpose, to)
                  : reserve(state.cpu, MemorySpace::host, shape, purpose, to);
  };
  if (state.head) {
    Result<void> done = on_link(false, state.head->design().whole_tensor(), "input window", state.window);
    if (!done) return done;
  }
  const Shape5 crosses = state.middle ? state.middle->design().whole_tensor() : state.tail->design().whole_input();
  for (Reservation& buffer : state.between) {
    if (Result<void> done = on_link(!state.middle, crosses, "hand-off to the GPU", buffer); !done) return done;
  }
  if (state.middle && state.tail) {
    const Shape5 between = state.tail->design().whole_input();
    Result<void> done = on_link(true, between, "tensor between host RAM and GPU", state.middle_output);
    if (!done) return done;
  }
  const Shape5& last = state.geometry.values.back();
  Result<void> first = on_link(state.tail.has_value(), last, "output of the GPU", state.output[0]);
  return first ? on_link(state.tail.has_value(), last, "output of the GPU", state.output[1]) : first;
}

Result<void> open_stages(std::vector<SegmentDesign> segments, const NetworkWeights& weights,
                         const Arena::Poison& poison, Pipeline::State& state) {
  const PlaceDevices devices{state.cpu, &state.gpu};
  for (SegmentDesign& segment : segments) {
    const std::string where(to_string(segment.place));
    if (segment.place == Place::gpu) {
      Result<GpuStage> tail = GpuStage::open(std::move(segment), weights, state.gpu, poison);
      if (!tail) return tail.error().within(where);
      state.tail.emplace(std::move(*tail));
      continue;
    }
    const bool is_head = segment.place == Place::cpu;
    if (!is_head && uses_cpu(segment)) state.reader.emplace(1);
    if (!is_head) state.writer.emplace(state.gpu.executor().workers());
    Result<HostStage> stage = HostStage::open(std::move(segment), weights, devices, is_head ? Arena::Poison() : poison);
    if (!stage) return stage.error().within(where);
    (is_head ? state.head : state.middle).emplace(std::move(*stage));
  }
  return {};
}

}  // namespace

Pipeline::Pipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::open(const Network& network, const NetworkWeights& weights,
                                                 const Rung& rung, const Catalogue& catalogue, Device& cpu,
                                                 Accelerator& gpu, const Arena::Poison& poison) {
  if (Result<void> checked = check_weights(network, weights); !checked) return checked.error();
  Result<RungSegments> parts = take_apart(network, rung, catalogue, {cpu.spec(), gpu.spec()});
  if (!parts) return parts.error();
  if (Result<void> checked = check_segments(parts->segments); !checked) return checked.error();
  auto state = std::make_unique<State>(parts->geometry, cpu, gpu);
  state->fov = reaches(network).back().fov;
  if (Result<void> opened = open_stages(std::move(parts->segments), weights, poison, *state); !opened) {
    return opened.error();
  }
  if (Result<void> reserved = reserve_tensors(*state); !reserved) return reserved.error();
  return std::make_unique<Pipeline>(std::move(state));
}

const Geometry& Pipeline::geometry() const { return state_->geometry; }
const std::optional<Error>& Pipeline::gpu_failure() const { return state_->gpu_failure; }

Result<void> Pipeline::warm_up(const std::stop_token& stop) {
  state_->gpu_failure.reset();
  const Reservation& crosses = state_->between.front();
  const Reservation& window = state_->head ? state_->window : crosses;
  std::fill_n(floats(window), window.bytes() / std::int64_t{sizeof(float)}, 0.0F);
  if (state_->head) {
    if (Result<void> begun = state_->head->forget(); !begun) return begun;
    Result<void> ran = state_->head->run(floats(window), crossing(*state_, floats(crosses)), 0, stop);
    if (!ran) return ran;
  }
  return run_gpu(*state_, floats(crosses), floats(state_->output.front()), 0, true, stop);
}

Result<PipelineStatistics> Pipeline::run(const VolumeJob& job, std::stop_token stop, std::int64_t most_planes) {
  const Clock::time_point start = Clock::now();
  state_->gpu_failure.reset();
  const Shape5& last = state_->geometry.values.back();
  const Result<VolumeShape> left = shape_left(job, state_->fov);
  if (!left) return left.error();
  if (left->f != state_->geometry.values.front().f || !covers(left->n, state_->fov)) {
    return Error{ErrorCode::invalid_argument, "input is " + std::to_string(left->f) + " x " + to_string(left->n) +
                                                  "; it must be " + std::to_string(state_->geometry.values.front().f) +
                                                  " images of at least the field of view, " + to_string(state_->fov)};
  }
  const Shape5 output{1, last.f, left->n - state_->fov + Vec3::cube(1)};
  WholeVolume whole(job.input.volume);
  PipelineRun run(job, job.input.source == nullptr ? whole : *job.input.source, *state_, output, most_planes);
  if (Result<void> ran = run.run(stop); !ran) return ran.error();
  PipelineStatistics statistics;
  statistics.job.seconds = seconds_since(start);
  statistics.job.patches = run.patches();
  statistics.job.voxels_per_second = static_cast<double>(voxels(output.n)) / std::max(statistics.job.seconds, 1e-9);
  statistics.job.stages = run.stages();
  statistics.idle = run.idle();
  return statistics;
}

}  // namespace znni
