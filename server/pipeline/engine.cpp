#include "server/pipeline/engine.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/geometry/patch_grid.hpp"
#include "planner/network/swap_axes.hpp"
#include "primitives/core/clock_time.hpp"
#include "primitives/core/refusals.hpp"
#include "server/pipeline/engine_state.hpp"
#include "server/pipeline/job/resumable_job.hpp"
#include "server/pipeline/job/slab_queue.hpp"
#include "server/pipeline/job_run.hpp"
#include "server/pipeline/schedule/prefault.hpp"

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Result<JobEstimate> Engine::estimate(const VolumeShape& input, ElementType output, std::int64_t max_held) const {
  return state_->estimate_of({state_->network().framed(input), output, max_held});
}

std::int64_t Engine::held_bytes(const JobEstimate& estimate, const VolumeShape& input, ElementType output) const {
  return state_->estimates->held_bytes(estimate, {state_->network().framed(input), output, estimate.max_held});
}

namespace {

// Returns the patches of which parts of `output` may consist: columns of a stream are as long as the output.
std::vector<Vec3> patches_of(const Engine::State& state, Vec3 output) {
  std::vector<Vec3> patches;
  for (const std::size_t rung : state.rungs_now()) {
    const Geometry& geometry = state.rungs[rung].geometry();
    Vec3 patch = swap_axes(geometry.patch_output, geometry.choice.axis);
    if (geometry.choice.streamed) patch[geometry.choice.axis] = output[geometry.choice.axis];
    patches.push_back(patch);
  }
  return patches;
}

}  // namespace

Result<VolumeCut> Engine::cut(const VolumeShape& input, ElementType output, std::int64_t max_held,
                              const std::stop_token& stop) const {
  const Result<JobEstimate> whole = estimate(input, output, max_held);
  if (!whole) return whole.error();
  const NetworkShape& network = state_->network();
  const Vec3 n = whole->output.n;
  std::int64_t least = saturated;
  const auto estimate_of_part = [&](Vec3 extent) -> PartEstimate {
    if (stop.stop_requested()) return {0, false};
    VolumeShape part = input;
    part.n = extent;
    const Work work{part, output, max_held};
    const JobEstimate found = state_->estimates->best_of_sound(work, state_->rungs_now());
    const std::int64_t held = state_->estimates->held_bytes(found, work);
    least = std::min(least, held);
    return {found.predicted_seconds, held <= max_held};
  };
  // The border of a part is none of the volume's: padding would stand where voxels are.
  const std::vector<Vec3> patches = network.is_dense ? patches_of(*state_, n) : std::vector<Vec3>{};
  const VolumeCut cut = best_cut(n, network.fov, patches, estimate_of_part);
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while the volume was cut"};
  if (cut.fits) return cut;
  return Error{ErrorCode::over_budget, "in whatever parts, a job holds " + bytes_text(least) +
                                           " of the volume, its output and the list of its patches at a time; it may "
                                           "hold " +
                                           bytes_text(max_held)};
}

std::optional<JobEstimate> Engine::estimate_beside_streams(const VolumeShape& input, ElementType output) const {
  std::optional<JobEstimate> best;
  if (state_->network().is_bound) return best;  // nothing is streamed
  const Work work{state_->network().framed(input), output};
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (!beside_streams(i) || !state_->estimates->takes(i, work.input.n)) continue;
    const JobEstimate other = state_->estimates->on(i, work);
    if (!best || other.predicted_seconds < best->predicted_seconds) best = other;
  }
  return best;
}

std::int64_t Engine::guest_entries(const VolumeJob& job) const {
  const std::optional<std::size_t> rung = job.schedule.rung;
  if (job.input.source != nullptr || job.sink.first_plane != 0 || !rung || *rung >= state_->rungs.size()) return 0;
  if (!state_->network().is_dense || !state_->rungs[*rung].on_cpu()) return 0;
  const Vec3 n = state_->network().framed(job.input.volume.shape).n;
  const std::int64_t patches = patch_count(n, state_->rungs[*rung].geometry(), state_->network().fov);
  return state_->estimates->guest_entries(*rung, patches);
}

std::optional<JobEstimate> Engine::estimate_as_guest(const VolumeShape& input, ElementType output) const {
  std::optional<JobEstimate> best;
  if (!state_->network().is_dense) return best;
  const Work work{state_->network().framed(input), output};
  for (std::size_t i = 0; i < state_->rungs.size(); ++i) {
    if (!state_->rungs[i].on_cpu()) continue;
    JobEstimate other = state_->estimates->on(i, work);
    if (other.entries == 0) continue;
    other.predicted_seconds *= static_cast<double>(other.entries) / static_cast<double>(other.batch);
    if (!best || other.predicted_seconds < best->predicted_seconds) best = other;
  }
  return best;
}

namespace {

// The course of a whole job.
struct JobCourse {
  Course on;
  Vec3 input;
  std::int64_t max_planes = 0;  // of its output that may wait, as its estimate said
};

// Returns whether a rung can compute a job from its first plane on.
bool begins_there(std::size_t rung, const VolumeJob& job, const Engine::State& state) {
  return job.sink.first_plane == 0 || !state.estimates->spans_z(rung);
}

// Returns the course on the rung that suits the job's work, or on the job's own rung.
Result<JobCourse> course_of(const VolumeJob& job, const Engine::State& state) {
  const NetworkShape& network = state.network();
  if (network.is_bound && job.sink.first_plane != 0) {
    return invalid_argument("the job's first plane is " + std::to_string(job.sink.first_plane) +
                            "; 0 is right where a network is bound to its window");
  }
  const Result<VolumeShape> left = shape_left(job, network.fov, network.frame);
  if (!left) return left.error();
  const Work work{*left, job.sink.type, job.schedule.max_held};
  const Result<JobEstimate> estimate = state.estimate_of(work);
  if (!estimate) return estimate.error();
  const std::size_t wanted = job.schedule.rung.value_or(estimate->rung);
  if (wanted >= state.rungs.size()) {
    return invalid_argument("the job is for rung " + std::to_string(wanted) + "; the plan has " +
                            std::to_string(state.rungs.size()));
  }
  const bool runs = state.rungs[wanted].is_open() && state.estimates->takes(wanted, left->n);
  const std::size_t rung = runs ? wanted : estimate->rung;
  if (!begins_there(rung, job, state)) {
    return invalid_argument("the job's first plane is " + std::to_string(job.sink.first_plane) +
                            "; 0 is right where a patch has the whole volume along z");
  }
  const Course on{rung, state.estimates->fallback_of(rung, work)};
  const std::int64_t max_planes = state.estimates->max_planes(on, work);
  const bool falls_back = on.fallback && state.gpu.why_lost() && begins_there(*on.fallback, job, state);
  return JobCourse{falls_back ? Course{*on.fallback, {}} : on, left->n, max_planes};
}

// Runs a job on the CPU, in slabs and planes no larger than the whole job has.
Result<JobStatistics> run_on_cpu(std::size_t number, const JobCourse& course, const VolumeJob& job,
                                 Engine::State& state, const std::stop_token& stop) {
  Engine::State::OpenRung& rung = state.rungs[number];
  const NetworkShape& network = state.network();
  const std::optional<WindowWeight> blend = state.estimates->blend_of(course.input);
  const std::int64_t max_planes = blend ? 1 : row_planes(course.input, rung.geometry(), network.fov, course.max_planes);
  const PatchGrid grid =
      blend ? state.estimates->window_grid(course.input)
            : job_grid(job, rung.geometry(), network.fov, max_planes, state.plan.sockets, network.frame);
  const Result<VolumeShape> left = shape_left(job, network.fov, network.frame);
  if (!left) return left.error();
  std::vector<SocketRung> sockets;
  for (std::size_t i = 0; i < rung.cpu.size(); ++i) {
    sockets.push_back({&rung.cpu[i], &state.sockets[i].device->executor()});
  }
  const JobWork work{job,
                     grid,
                     {1, network.f_out, network.output(left->n)},
                     state.plan.ladder[number].seconds,
                     sockets,
                     state.drivers,
                     state.observer,
                     job.schedule.rung == number,
                     network.frame,
                     blend};
  const Result<StageSeconds> ran = run_job(work, stop);
  if (!ran) return ran.error();
  JobStatistics statistics;
  statistics.patches = std::ssize(grid.patches);
  statistics.stages = *ran;
  return statistics;
}

// Runs what is left of the work.
Result<JobStatistics> run_on(std::size_t number, const JobCourse& course, const VolumeJob& job, Engine::State& state,
                             const std::stop_token& stop) {
  Engine::State::OpenRung& rung = state.rungs[number];
  if (rung.on_cpu()) return run_on_cpu(number, course, job, state, stop);
  const std::int64_t max_planes = row_planes(course.input, rung.geometry(), state.network().fov, course.max_planes);
  const Result<PipelineStatistics> ran = rung.split->run(job, stop, max_planes);
  if (!ran) return ran.error();
  JobStatistics statistics;
  statistics.patches = ran->job.patches;
  statistics.cpu_idle = ran->idle.producer;
  statistics.gpu_idle = ran->idle.consumer;
  statistics.stages = ran->job.stages;
  return statistics;
}

// Runs what is left of the work, and notes that its rung has run.
Result<JobStatistics> run_rung(std::size_t number, const JobCourse& course, const VolumeJob& job, Engine::State& state,
                               const std::stop_token& stop) {
  Result<JobStatistics> ran = run_on(number, course, job, state, stop);
  if (ran) state.has_run[number] = true;
  return ran;
}

// Goes on with a job on its fallback after `reason` ended its own rung.
Result<JobStatistics> go_on(const JobCourse& course, const VolumeJob& left, const Error& reason, Engine::State& state,
                            const std::stop_token& stop) {
  if (begins_there(*course.on.fallback, left, state)) return run_rung(*course.on.fallback, course, left, state, stop);
  return Error{reason.code,
               reason.message + "; " + std::to_string(left.sink.first_plane) +
                   " planes are delivered, and the plan's rungs on the CPU begin at plane 0 alone, because "
                   "their patches have the whole volume along z: run the job again"};
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
                                                  " voxels, or other channels; the job's is of " +
                                                  to_string(job.input.volume.shape.n)};
  }
  ResumableJob resumable(job);
  const bool was_lost = state_->gpu.why_lost().has_value();
  const Result<JobCourse> course = course_of(job, *state_);
  if (!course) return course.error();
  Result<JobStatistics> ran = run_rung(course->on.rung, *course, resumable.job(), *state_, stop);
  if (!ran && course->on.fallback && loses_gpu(*state_)) {
    resumable.go_back();
    ran = go_on(*course, resumable.job(), ran.error(), *state_, stop);
  }
  if (!ran) return ran;
  const Vec3 output = job.input.volume.shape.n - Vec3{job.sink.first_plane, 0, 0} - field_of_view() + Vec3::cube(1);
  ran->seconds = seconds_since(start);
  ran->voxels_per_second = static_cast<double>(voxels(output)) / std::max(ran->seconds, 1e-9);
  ran->fallback = state_->gpu.why_lost().value_or("");
  if (was_lost && state_->gpu.is_retry_due()) state_->retry_gpu(stop);
  return ran;
}

namespace {

// Works on all sockets at the same time. Returns the first error in their order.
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
    const Result<Seconds> seconds = prefault(bytes, socket.device->executor(), stop);
    return seconds ? Result<void>() : seconds.error();
  });
  return touched ? Result<Seconds>(seconds_since(start)) : touched.error();
}

namespace {

Result<void> run_on_zeros(PreparedSchedule& rung, const std::stop_token& stop) {
  const TensorView input = rung.input();
  for (std::int64_t channel = 0; channel < input.shape.S * input.shape.f; ++channel) {
    std::fill_n(input.channel(channel / input.shape.f, channel % input.shape.f), voxels(input.shape.n), 0.0F);
  }
  return rung.run_pass(0, stop);
}

}  // namespace

Result<void> Engine::warm_up(std::size_t rung, std::stop_token stop) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  State::OpenRung& opened = state_->rungs[rung];
  if (!opened.on_cpu()) {
    if (state_->gpu.why_lost()) return {};
    const Result<void> ran = opened.split->warm_up(stop);
    return ran || loses_gpu(*state_) ? Result<void>() : ran;
  }
  return on_every_socket(*state_, [&](std::size_t number) { return run_on_zeros(opened.cpu[number], stop); });
}

bool Engine::has_run(std::size_t rung) const {
  ensure(rung < state_->has_run.size(), "a rung of the ladder");
  return state_->has_run[rung];
}

void Engine::touched_from(std::size_t rung) {
  ensure(rung < state_->rungs.size(), "a rung of the ladder");
  state_->estimates->touched_from(rung);
}

bool Engine::beside_streams(std::size_t rung) const {
  return rung < state_->places.size() && state_->places[rung].beside_streams;
}

void Engine::retry_gpu_after(Seconds wait) { state_->gpu.retry_after(wait); }

void Engine::blend_windows(const WindowBlend& blend) { state_->estimates->blend_windows(blend); }

void Engine::observe(CallObserver observer) { state_->observer = std::move(observer); }

ByteRange Engine::memory() const { return {0, state_->sockets.front().transient.bytes()}; }
ByteRange Engine::memory_of(std::size_t rung) const { return state_->places[rung].memory; }
std::size_t Engine::first_touched() const { return state_->estimates->first_touched(); }
const Plan& Engine::plan() const { return state_->plan; }
Vec3 Engine::field_of_view() const {
  const NetworkShape& network = state_->network();
  return network.fov - network.frame.begin - network.frame.end;
}
std::optional<std::string> Engine::gpu_lost() const { return state_->gpu.why_lost(); }
bool Engine::gpu_lost_for_good() const { return state_->gpu.is_lost_for_good(); }
Vec3 Engine::patch() const {
  const Geometry& geometry = state_->front().geometry();
  return swap_axes(geometry.patch_input, geometry.choice.axis);
}
std::int64_t Engine::f_in() const { return state_->network().f_in; }
std::int64_t Engine::f_out() const { return state_->network().f_out; }

std::int64_t Engine::reserved_bytes() const {
  std::int64_t bytes = 0;
  for (const State::Socket& socket : state_->sockets) bytes = add(bytes, socket.transient.bytes());
  for (const State::OpenRung& rung : state_->rungs) {
    bytes = add(bytes, rung.split_bytes);
    for (const PreparedSchedule& prepared : rung.cpu) bytes = add(bytes, prepared.persistent_bytes());
  }
  return bytes;
}

}  // namespace znni
