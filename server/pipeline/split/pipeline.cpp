#include "server/pipeline/split/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "planner/layers/segment_check.hpp"
#include "primitives/core/clock_time.hpp"
#include "server/pipeline/job/slab_queue.hpp"
#include "server/pipeline/split/gpu_failure.hpp"
#include "server/pipeline/split/head_and_tail.hpp"
#include "server/pipeline/split/pipeline_state.hpp"

namespace znni {

namespace {

using Clock = std::chrono::steady_clock;

Result<void> reserve(Device& device, MemorySpace space, const Shape5& shape, const char* purpose, Reservation& to) {
  Result<Reservation> block = device.reserve(space, tensor_bytes(shape, {}), purpose);
  if (!block) return block.error();
  to = std::move(*block);
  return {};
}

// Reserves host memory for a stage that reads or writes it, pinned memory for one that copies.
Result<void> reserve_tensors(Pipeline::State& state) {
  const auto on_link = [&](bool copied, const Shape5& shape, const char* purpose, Reservation& to) {
    return copied ? reserve(state.gpu, MemorySpace::pinned, shape, purpose, to)
                  : reserve(state.cpu, MemorySpace::host, shape, purpose, to);
  };
  if (state.head) {
    Result<void> done = on_link(false, state.head->design().whole_tensor(), "input window", state.buffers.window);
    if (!done) return done;
  }
  const Shape5 crosses = state.middle ? state.middle->design().whole_tensor() : state.tail->design().whole_input();
  for (Reservation& buffer : state.buffers.between) {
    if (Result<void> done = on_link(!state.middle, crosses, "hand-off to the GPU", buffer); !done) return done;
  }
  if (state.middle && state.tail) {
    const Shape5 between = state.tail->design().whole_input();
    Result<void> done = on_link(true, between, "tensor between host RAM and GPU", state.buffers.middle_output);
    if (!done) return done;
  }
  const Shape5& last = state.geometry.values.back();
  Result<void> first = on_link(state.tail.has_value(), last, "output of the GPU", state.buffers.output[0]);
  return first ? on_link(state.tail.has_value(), last, "output of the GPU", state.buffers.output[1]) : first;
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

TensorView Pipeline::State::crossing(float* buffer) const {
  return middle ? middle->new_planes(buffer) : dense_view(buffer, tail->design().whole_input());
}

Result<void> Pipeline::State::forget_on_gpu() {
  Result<void> done = middle ? middle->forget() : Result<void>();
  return done && tail ? tail->forget() : done;
}

Result<void> Pipeline::State::run_gpu(float* input, float* output, std::int64_t pass, bool begins,
                                      const std::stop_token& stop) {
  float* const between = middle && tail ? floats_of(buffers.middle_output) : output;
  Result<void> ran = begins ? forget_on_gpu() : Result<void>();
  if (ran && middle) ran = middle->run(input, dense_view(between, middle->design().whole_output()), pass, stop);
  if (ran && tail) ran = tail->run(middle ? between : input, output, pass, stop);
  if (ran || !is_gpu_failure(ran.error().code)) return ran;
  gpu_failure = with_cause(ran.error(), gpu);
  return *gpu_failure;
}

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
  state->frame = network.frame;
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
  const Reservation& crosses = state_->buffers.between.front();
  const Reservation& window = state_->head ? state_->buffers.window : crosses;
  std::fill_n(floats_of(window), window.bytes() / std::int64_t{sizeof(float)}, 0.0F);
  if (state_->head) {
    if (Result<void> begun = state_->head->forget(); !begun) return begun;
    Result<void> ran = state_->head->run(floats_of(window), state_->crossing(floats_of(crosses)), 0, stop);
    if (!ran) return ran;
  }
  return state_->run_gpu(floats_of(crosses), floats_of(state_->buffers.output.front()), 0, true, stop);
}

Result<PipelineStatistics> Pipeline::run(const VolumeJob& job, std::stop_token stop, std::int64_t max_planes) {
  const Clock::time_point start = Clock::now();
  state_->gpu_failure.reset();
  const Shape5& last = state_->geometry.values.back();
  const Result<VolumeShape> left = shape_left(job, state_->fov, state_->frame);
  if (!left) return left.error();
  if (left->f != state_->geometry.values.front().f || !covers(left->n, state_->fov)) {
    return Error{ErrorCode::invalid_argument, "input is " + std::to_string(left->f) + " x " + to_string(left->n) +
                                                  "; it must be " + std::to_string(state_->geometry.values.front().f) +
                                                  " channels of at least the field of view, " + to_string(state_->fov)};
  }
  const Shape5 output{1, last.f, left->n - state_->fov + Vec3::cube(1)};
  WholeVolume whole(job.input.volume);
  PlaneSource& source = job.input.source == nullptr ? whole : *job.input.source;
  Result<PipelineStatistics> ran = run_head_and_tail(job, source, output, max_planes, *state_, stop);
  if (!ran) return ran;
  ran->job.seconds = seconds_since(start);
  ran->job.voxels_per_second = static_cast<double>(voxels(output.n)) / std::max(ran->job.seconds, 1e-9);
  return ran;
}

}  // namespace znni
