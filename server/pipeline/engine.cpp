#include "server/pipeline/engine.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/layers/ladder.hpp"
#include "planner/network/exchange.hpp"
#include "primitives/core/clock_time.hpp"
#include "server/pipeline/engine_state.hpp"
#include "server/pipeline/gpu_failure.hpp"
#include "server/pipeline/job_run.hpp"
#include "server/pipeline/resumable_job.hpp"
#include "server/pipeline/slab_queue.hpp"
#include "server/pipeline/touch.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

namespace {

// `bytes`: of each of the plan's sockets.
Result<void> open_sockets(Device& cpu, std::int64_t bytes, Engine::State& state) {
  state.drivers = &cpu.drivers();
  for (int number = 0; number < state.plan.sockets; ++number) {
    Device& device = state.plan.sockets == 1 ? cpu : cpu.socket(number);
    Result<Reservation> transient = device.reserve(MemorySpace::host, bytes, "activations and scratch");
    if (!transient) return transient.error();
    state.sockets.push_back({&device, *std::move(transient)});
  }
  return {};
}

Result<void> open_cpu_rung(const RungDesign& design, const NetworkWeights& weights, std::int64_t place,
                           const Engine::State& state, Engine::State::OpenRung& to) {
  for (const Engine::State::Socket& socket : state.sockets) {
    std::byte* const memory = socket.transient.data() + place;
    Result<PreparedRung> rung = PreparedRung::open(design, weights, memory, *socket.device);
    if (!rung) return rung.error();
    to.cpu.push_back(*std::move(rung));
  }
  to.side_by_side = to.geometry();
  to.side_by_side.choice.S *= state.plan.sockets;
  return {};
}

// A GPU that fails here is lost where other rungs can do without it.
Result<void> open_rungs(const Network& network, const NetworkWeights& weights, const Catalogue& catalogue,
                        const PlaceDevices& devices, const std::vector<LadderRung>& designs, Engine::State& state) {
  std::int64_t most = 0;
  for (const LadderRung& design : designs) most = std::max(most, design.cpu ? design.cpu->packing.bytes : 0);
  if (Result<void> opened = open_sockets(*devices.cpu, most, state); !opened) return opened;
  state.places = place_rungs(designs);
  std::optional<Error> lost;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    Engine::State::OpenRung& rung = state.rungs.emplace_back();
    const std::string where = "rung " + std::to_string(i);
    if (designs[i].cpu) {
      Result<void> opened = open_cpu_rung(*designs[i].cpu, weights, state.places[i].memory.first, state, rung);
      if (!opened) return opened.error().within(where);
      continue;
    }
    auto split = Pipeline::open(network, weights, state.plan.ladder[i], catalogue, *devices.cpu, *devices.gpu);
    if (!split && !is_gpu_failure(split.error().code)) return split.error().within(where);
    if (!split) {
      lost = split.error().within(where);
      continue;
    }
    rung.split = *std::move(split);
    rung.split_bytes = add(designs[i].split.host, designs[i].split.pinned);
  }
  return !lost || state.lose_gpu(*lost) ? Result<void>() : Result<void>(*lost);
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const Network& network, const NetworkWeights& weights, const Plan& plan,
                                             const Catalogue& catalogue, const PlaceDevices& devices) {
  if (Result<void> checked = check(network); !checked) return checked.error();
  if (Result<void> checked = check_weights(network, weights); !checked) return checked.error();
  const bool lacking = devices.gpu == nullptr && !devices.lacking.empty() && needs_gpu(plan);
  const Plan rest = lacking ? without_gpu(plan) : plan;
  if (rest.ladder.empty() && lacking) return Error{ErrorCode::device_failure, devices.lacking};
  Result<std::vector<LadderRung>> designs = design_ladder(network, rest, catalogue, devices.cpu->spec(),
                                                          devices.gpu == nullptr ? nullptr : &devices.gpu->spec());
  if (!designs) return designs.error();

  auto state = std::make_unique<State>();
  state->plan = rest;
  state->fov = reaches(network).back().fov;
  state->frame = network.frame;
  state->is_dense = is_dense(network);
  state->is_bound = is_tile_bound(network);
  state->check_volume = [network](Vec3 volume) { return check_volume(network, volume); };
  state->f_in = network.f_in;
  state->f_out = images(network).back();
  if (lacking) state->gpu_lost = devices.lacking;
  if (Result<void> opened = open_rungs(network, weights, catalogue, devices, *designs, *state); !opened) {
    return opened.error();
  }
  return std::make_unique<Engine>(std::move(state));
}

Result<JobOutlook> Engine::outlook(const VolumeShape& input, ElementType output, std::int64_t most_held) const {
  return state_->outlook_of({state_->framed(input), output, most_held});
}

namespace {

// That parts of `output` may consist of: columns of a stream as long as it is.
std::vector<Vec3> patches_of(const Engine::State& state, Vec3 output) {
  std::vector<Vec3> patches;
  for (const std::size_t rung : state.rungs_now()) {
    const Geometry& geometry = state.rungs[rung].geometry();
    Vec3 patch = exchanged(geometry.patch_output, geometry.choice.axis);
    if (geometry.choice.streamed) patch[geometry.choice.axis] = output[geometry.choice.axis];
    patches.push_back(patch);
  }
  return patches;
}

}  // namespace

Result<VolumeCut> Engine::cut(const VolumeShape& input, ElementType output, std::int64_t most_held,
                              const std::stop_token& stop) const {
  const Result<JobOutlook> whole = outlook(input, output, most_held);
  if (!whole) return whole.error();
  const Vec3 n = whole->output.n;
  // The border of a part is none of the volume's: padding would stand where voxels are.
  const bool divisible = state_->is_dense;
  std::int64_t least = saturated;
  const VolumeCut cut = best_cut(n, state_->fov, divisible ? patches_of(*state_, n) : std::vector<Vec3>{},
                                 [&](Vec3 extent) -> PartOutlook {
                                   if (stop.stop_requested()) return {0, false};
                                   VolumeShape part = input;
                                   part.n = extent;
                                   const State::Work work{part, output, most_held};
                                   const JobOutlook found = state_->best_outlook(work);
                                   const std::int64_t held = state_->held_bytes(found, work);
                                   least = std::min(least, held);
                                   return {found.predicted_seconds, held <= most_held};
                                 });
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while the volume was cut"};
  if (cut.fits) return cut;
  return Error{ErrorCode::over_budget, "in whatever parts, a job holds " + bytes_text(least) +
                                           " of the volume, its output and the list of its patches at a time; it may "
                                           "hold " +
                                           bytes_text(most_held)};
}

std::optional<JobOutlook> Engine::outlook_beside_streams(const VolumeShape& input, ElementType output) const {
  std::optional<JobOutlook> best;
  if (state_->is_bound) return best;  // nothing is streamed
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (!beside_streams(i) || !state_->takes(i, state_->framed(input).n)) continue;
    const JobOutlook other = state_->outlook_on(i, {state_->framed(input), output});
    if (!best || other.predicted_seconds < best->predicted_seconds) best = other;
  }
  return best;
}

std::int64_t Engine::guest_places(const VolumeJob& job) const {
  if (job.input.source != nullptr || job.sink.first_plane != 0 || !job.schedule.rung ||
      *job.schedule.rung >= state_->rungs.size())
    return 0;
  if (!state_->is_dense) return 0;
  const State::OpenRung& rung = state_->rungs[*job.schedule.rung];
  if (!rung.on_cpu()) return 0;
  const Vec3 n = state_->framed(job.input.volume.shape).n;
  return state_->guest_places(*job.schedule.rung, patch_count(n, rung.geometry(), state_->fov));
}

std::optional<JobOutlook> Engine::outlook_as_guest(const VolumeShape& input, ElementType output) const {
  std::optional<JobOutlook> best;
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (!state_->rungs[i].on_cpu() || !state_->is_dense) continue;
    JobOutlook other = state_->outlook_on(i, {state_->framed(input), output});
    if (other.places == 0) continue;
    other.predicted_seconds *= static_cast<double>(other.places) / static_cast<double>(other.batch);
    if (!best || other.predicted_seconds < best->predicted_seconds) best = other;
  }
  return best;
}

namespace {

// Of all that a job has to do.
struct JobCourse {
  Engine::State::Course on;
  Vec3 input;
  std::int64_t most_planes = 0;  // of its output that may wait, as its outlook said
};

// On the rung that suits what the job has to do, or its own.
Result<JobCourse> course_of(const VolumeJob& job, const Engine::State& state) {
  if (state.is_bound && job.sink.first_plane != 0) {
    return Error{ErrorCode::invalid_argument, "the job's first plane is " + std::to_string(job.sink.first_plane) +
                                                  "; 0 is right where a network is bound to its window"};
  }
  const Result<VolumeShape> left = shape_left(job, state.fov, state.frame);
  if (!left) return left.error();
  const Engine::State::Work work{*left, job.sink.type, job.schedule.most_held};
  const Result<JobOutlook> outlook = state.outlook_of(work);
  if (!outlook) return outlook.error();
  if (job.schedule.rung && *job.schedule.rung >= state.rungs.size()) {
    return Error{ErrorCode::invalid_argument, "the job is for rung " + std::to_string(*job.schedule.rung) +
                                                  "; the plan has " + std::to_string(state.rungs.size())};
  }
  const std::size_t wanted = job.schedule.rung.value_or(outlook->rung);
  const bool runs = state.rungs[wanted].is_open() && state.takes(wanted, left->n);
  const std::size_t rung = runs ? wanted : outlook->rung;
  const Engine::State::Course on{rung, state.spare_of(rung, work)};
  const std::int64_t most_planes = state.most_planes(on, work);
  if (on.spare && state.why_lost()) return JobCourse{{*on.spare, {}}, left->n, most_planes};
  return JobCourse{on, left->n, most_planes};
}

// What is left of the work, in slabs and planes no larger than all of it has.
Result<JobStatistics> run_rung(std::size_t number, const JobCourse& course, const VolumeJob& job, Engine::State& state,
                               const std::stop_token& stop) {
  Engine::State::OpenRung& rung = state.rungs[number];
  const std::optional<WindowWeight> blend = state.blend_of(course.input);
  const std::int64_t most_planes = blend ? 1 : row_planes(course.input, rung.geometry(), state.fov, course.most_planes);
  JobStatistics statistics;
  if (!rung.on_cpu()) {
    const Result<PipelineStatistics> ran = rung.split->run(job, stop, most_planes);
    if (!ran) return ran.error();
    statistics.patches = ran->job.patches;
    statistics.cpu_idle = ran->idle.producer;
    statistics.gpu_idle = ran->idle.consumer;
    statistics.stages = ran->job.stages;
    return statistics;
  }
  const PatchGrid grid = blend
                             ? state.window_grid(course.input)
                             : job_grid(job, rung.geometry(), state.fov, most_planes, state.plan.sockets, state.frame);
  const Result<VolumeShape> left = shape_left(job, state.fov, state.frame);
  if (!left) return left.error();
  const Shape5 output{1, state.f_out, left->n - state.fov + Vec3::cube(1)};
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < rung.cpu.size(); ++i) {
    seats.push_back({&rung.cpu[i], &state.sockets[i].device->executor()});
  }
  const Seconds predicted = state.plan.ladder[number].seconds;
  const JobWork work{job,         grid,          output,         predicted,
                     seats,       state.drivers, state.observer, job.schedule.rung == number,
                     state.frame, blend};
  const Result<StageSeconds> ran = run_job(work, stop);
  if (!ran) return ran.error();
  statistics.patches = std::ssize(grid.patches);
  statistics.stages = *ran;
  return statistics;
}

// Returns whether the last run of some rung ended because of the GPU, and other rungs can do without it.
bool loses_gpu(Engine::State& state) {
  for (const Engine::State::OpenRung& rung : state.rungs) {
    if (rung.split && rung.split->gpu_failure() && state.lose_gpu(*rung.split->gpu_failure())) return true;
  }
  return false;
}

}  // namespace

Result<JobStatistics> Engine::run(const VolumeJob& job, std::stop_token stop) {
  const Clock::time_point start = Clock::now();
  if (job.input.source != nullptr && job.input.source->shape() != job.input.volume.shape) {
    return Error{ErrorCode::invalid_argument, "the source gives a volume of " + to_string(job.input.source->shape().n) +
                                                  " voxels, or other images; the job's is of " +
                                                  to_string(job.input.volume.shape.n)};
  }
  ResumableJob resumable(job);
  const bool was_lost = state_->why_lost().has_value();
  const Result<JobCourse> course = course_of(job, *state_);
  if (!course) return course.error();
  Result<JobStatistics> ran = run_rung(course->on.rung, *course, resumable.job(), *state_, stop);
  if (!ran && course->on.spare && loses_gpu(*state_)) {
    resumable.go_back();
    ran = run_rung(*course->on.spare, *course, resumable.job(), *state_, stop);
  }
  if (!ran) return ran;
  const Vec3 output = job.input.volume.shape.n - Vec3{job.sink.first_plane, 0, 0} - field_of_view() + Vec3::cube(1);
  ran->seconds = seconds_since(start);
  ran->voxels_per_second = static_cast<double>(voxels(output)) / std::max(ran->seconds, 1e-9);
  ran->fallback = state_->why_lost().value_or("");
  if (was_lost && state_->is_retry_due()) state_->retry_gpu(stop);
  return ran;
}

namespace {

// On all at the same time; the first error in their order.
Result<void> on_every_socket(Engine::State& state, const std::function<Result<void>(std::size_t)>& work) {
  if (state.sockets.size() == 1) return work(0);
  std::vector<Result<void>> results(state.sockets.size());
  state.drivers->on_every_worker([&](std::int64_t number, int) {
    const auto socket = static_cast<std::size_t>(number);
    results[socket] = work(socket);
  });
  const auto failed = std::find_if(results.begin(), results.end(), [](const Result<void>& done) { return !done; });
  return failed == results.end() ? Result<void>() : *failed;
}

}  // namespace

Result<Seconds> Engine::touch_memory(const ByteRange& part, std::stop_token stop) {
  const std::int64_t whole = memory().bytes;
  ensure(part.first >= 0 && part.bytes >= 0 && part.bytes <= whole - part.first, "a part of the memory");
  const Clock::time_point start = Clock::now();
  const Result<void> touched = on_every_socket(*state_, [&](std::size_t number) -> Result<void> {
    const State::Socket& socket = state_->sockets[number];
    const std::span<std::byte> bytes(socket.transient.data() + part.first, static_cast<std::size_t>(part.bytes));
    const Result<Seconds> seconds = touch(bytes, socket.device->executor(), stop);
    return seconds ? Result<void>() : seconds.error();
  });
  return touched ? Result<Seconds>(seconds_since(start)) : touched.error();
}

namespace {

Result<void> run_on_zeros(PreparedRung& rung, const std::stop_token& stop) {
  const TensorView& input = rung.input();
  for (std::int64_t image = 0; image < input.shape.S * input.shape.f; ++image) {
    std::fill_n(input.image(image / input.shape.f, image % input.shape.f), voxels(input.shape.n), 0.0F);
  }
  return rung.run_pass(0, stop);
}

}  // namespace

Result<void> Engine::warm_up(std::size_t rung, std::stop_token stop) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  State::OpenRung& opened = state_->rungs[rung];
  if (!opened.on_cpu()) {
    if (state_->why_lost()) return {};
    const Result<void> ran = opened.split->warm_up(stop);
    return ran || loses_gpu(*state_) ? Result<void>() : ran;
  }
  return on_every_socket(*state_, [&](std::size_t number) { return run_on_zeros(opened.cpu[number], stop); });
}

void Engine::touched_from(std::size_t rung) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  state_->first_touched = rung;
}

bool Engine::beside_streams(std::size_t rung) const {
  return rung < state_->places.size() && state_->places[rung].beside_streams;
}

void Engine::retry_gpu_after(Seconds wait) {
  const std::lock_guard lock(state_->mutex);
  state_->gpu_retry = GpuRetry(wait);
}

void Engine::blend_windows(const WindowBlend& blend) { state_->blend = blend; }

void Engine::observe(CallObserver observer) { state_->observer = std::move(observer); }

ByteRange Engine::memory() const { return {0, state_->sockets.front().transient.bytes()}; }
ByteRange Engine::memory_of(std::size_t rung) const { return state_->places[rung].memory; }
std::size_t Engine::first_touched() const { return state_->first_touched; }
const Plan& Engine::plan() const { return state_->plan; }
Vec3 Engine::field_of_view() const { return state_->fov - state_->frame.begin - state_->frame.end; }
std::optional<std::string> Engine::gpu_lost() const { return state_->why_lost(); }
bool Engine::gpu_lost_for_good() const { return state_->is_lost_for_good(); }
Vec3 Engine::patch() const {
  const Geometry& geometry = state_->front().geometry();
  return exchanged(geometry.patch_input, geometry.choice.axis);
}
std::int64_t Engine::f_in() const { return state_->f_in; }
std::int64_t Engine::f_out() const { return state_->f_out; }

std::int64_t Engine::reserved_bytes() const {
  std::int64_t bytes = 0;
  for (const State::Socket& socket : state_->sockets) bytes = add(bytes, socket.transient.bytes());
  for (const State::OpenRung& rung : state_->rungs) {
    bytes = add(bytes, rung.split_bytes);
    for (const PreparedRung& prepared : rung.cpu) bytes = add(bytes, prepared.persistent_bytes());
  }
  return bytes;
}

}  // namespace znni
