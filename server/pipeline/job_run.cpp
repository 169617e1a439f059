#include "server/pipeline/job_run.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "planner/network/swap_axes.hpp"
#include "server/pipeline/job/blender.hpp"
#include "server/pipeline/job/guests.hpp"
#include "server/pipeline/job/job_cancelled.hpp"
#include "server/pipeline/job/job_patches.hpp"
#include "server/pipeline/schedule/outside.hpp"

namespace znni {
namespace {

// Returns what stopped the others, rather than that they were stopped.
Result<void> first_failure(const std::vector<Result<void>>& results) {
  Result<void> failure;
  for (const Result<void>& result : results) {
    if (!result && (failure || failure.error().code == ErrorCode::cancelled)) failure = result;
  }
  return failure;
}

// Returns the floats from the first of a planar view of one input to the end of its last.
std::int64_t extent_of(const TensorView& view) {
  const Vec3 last = view.shape.n - Vec3::cube(1);
  const Strides& strides = view.strides;
  return (view.shape.f - 1) * strides.f + last.z * strides.z + last.y * strides.y + last.x + 1;
}

// Returns whether two such views lie in one memory.
bool overlap(const TensorView& a, const TensorView& b) {
  const std::less_equal<const float*> is_before;
  return !is_before(a.data + extent_of(a), b.data) && !is_before(b.data + extent_of(b), a.data);
}

// Has a rung read and write its own tensors again at the end, because volumes do not stay.
class OwnTensorsAgain {
 public:
  explicit OwnTensorsAgain(PreparedSchedule& rung) : rung_(rung) {}
  ~OwnTensorsAgain() { rung_.redirect(nullptr, nullptr); }
  OwnTensorsAgain(const OwnTensorsAgain&) = delete;
  OwnTensorsAgain& operator=(const OwnTensorsAgain&) = delete;

 private:
  PreparedSchedule& rung_;
};

// A socket's rung and what it computes in a round.
struct SocketWork {
  SocketRung by;
  std::vector<StitchTarget> targets;  // S
  std::vector<Vec3> starts;
  std::unique_ptr<Guests> guests;  // in its last entries; mostly nullptr
  bool reads_in_place = false;     // the window under way, in the volume
  bool writes_in_place = false;    // its output, in the slab
  StageSeconds stages;
};

// Patches that sockets compute side by side: each takes neighbours, a batch or the steps of a column.
struct PatchRange {
  std::int64_t first = 0;  // patch
  std::int64_t sockets = 0;
  std::int64_t length = 0;  // patches of each
};

class SideBySide final : public PatchStrategy {
 public:
  SideBySide(const JobWork& work, JobPatches& patches)
      : work_(work),
        geometry_(work.sockets.front().rung->geometry()),
        patches_(patches),
        range_(range_from(0)),
        observer_([this](const CallTime& call) {
          const std::lock_guard lock(mutex_);
          if (work_.observer) work_.observer(call);
          layers_.add_layer(call.node, call.seconds);
          advance(call.predicted);
        }) {
    if (work.blend) blender_.emplace(work.output, geometry_.patch_output, *work.blend);
    const auto batch = static_cast<std::size_t>(S());
    for (const SocketRung& socket : work.sockets) {
      sockets_.push_back(
          {socket, std::vector<StitchTarget>(batch), std::vector<Vec3>(batch), nullptr, false, false, {}});
    }
  }

  [[nodiscard]] std::int64_t next() const override { return at(0); }

  // Wants the planes of the next step, which columns side by side share.
  void want_next() override {
    const std::int64_t first = at(0);
    patches_.want(first, first + (geometry_.choice.streamed ? 1 : patches_of_round()));
  }

  // Runs one round.
  Result<void> run(const std::stop_token& stop) override {
    if (Result<void> came = patches_.wait(stop); !came) return came;
    if (Result<void> ran = run_round(stop); !ran) return ran;
    for (SocketWork& socket : sockets_) {
      if (socket.guests) socket.guests->deliver();
    }
    if (blender_) blend();
    return end_round();
  }

  StageSeconds stages() override {
    StageSeconds all;
    for (const SocketWork& socket : sockets_) all += socket.stages;
    return all;
  }

  // Returns stages(), and its layers one by one.
  [[nodiscard]] StageSeconds stages_with_layers() {
    StageSeconds all = layers_;
    all += stages();
    return all;
  }

 private:
  [[nodiscard]] std::int64_t S() const { return geometry_.choice.S; }

  // Adds the windows of the round, in their order, and writes the row that they complete.
  void blend() {
    const StageTimer timer(sockets_.front().stages.stitch);
    Executor& executor = *sockets_.front().by.executor;
    for (std::int64_t socket = 0; socket < range_.sockets; ++socket) {
      const SocketWork& own = sockets_[static_cast<std::size_t>(socket)];
      blender_->add(own.by.rung->output(), own.targets.front().patch.start, executor);
    }
    const bool is_row = patches_.done() + range_.sockets == row_of(work_.grid, patches_.done()).end;
    if (is_row) blender_->write(sockets_.front().targets.front().slab, executor);
  }

  // Returns a range with a batch or column for every socket, if there is work for all. If sockets share a row, all its
  // columns have as many steps.
  [[nodiscard]] PatchRange range_from(std::int64_t first) const {
    const auto sockets = static_cast<std::int64_t>(work_.sockets.size());
    if (work_.blend) return {first, std::min(sockets, row_of(work_.grid, first).end - first), 1};
    if (!geometry_.choice.streamed) return {first, std::min(sockets, div_up(patches_.count() - first, S())), S()};
    std::int64_t next = first + 1;
    while (next < patches_.count() && patches_.patch(next).continues) ++next;
    const std::int64_t steps = next - first;
    const std::int64_t columns = (row_of(work_.grid, first).end - first) / steps;  // 0: each step is a row
    return {first, std::clamp<std::int64_t>(columns, 1, sockets), steps};
  }

  // Returns the first patch of a socket in this round.
  [[nodiscard]] std::int64_t at(std::int64_t socket) const { return range_.first + socket * range_.length + step_; }
  // Returns the patches of this round, without those that the last batch repeats.
  [[nodiscard]] std::int64_t patches_of_round() const {
    return std::min(range_.sockets * S(), patches_.count() - patches_.done());
  }

  // Ends a round. Patches that are done are those before patches_.done() or, within a range, as many of the same row.
  Result<void> end_round() {
    const std::int64_t done = patches_.done() + patches_of_round();
    spent_ = 0;
    step_ += S();
    if (step_ >= range_.length && done < patches_.count()) {
      step_ = 0;
      range_ = range_from(done);
    }
    return patches_.deliver(done, stages());
  }

  Result<void> run_round(const std::stop_token& stop) {
    if (stop.stop_requested()) return job_cancelled();
    for (std::int64_t socket = 0; socket < range_.sockets; ++socket) {
      const Result<void> aimed = aim(at(socket), sockets_[static_cast<std::size_t>(socket)]);
      if (!aimed && (socket == 0 || aimed.error().code != ErrorCode::over_budget)) return aimed;
      if (!aimed) range_.sockets = socket;  // until the slabs that are open are sent
    }
    return sockets_.size() == 1 ? run_batch(sockets_.front(), stop) : run_batches(stop);
  }

  // Runs one batch on each socket, at the same time.
  Result<void> run_batches(const std::stop_token& stop) {
    std::stop_source ending;
    const std::stop_callback stopped(stop, [&ending] { ending.request_stop(); });
    std::vector<Result<void>> results(static_cast<std::size_t>(range_.sockets));
    work_.drivers->on_every_worker([&](std::int64_t number, int) {
      const auto socket = static_cast<std::size_t>(number);
      if (socket >= results.size()) return;
      results[socket] = run_batch(sockets_[socket], ending.get_token());
      if (!results[socket]) ending.request_stop();
    });
    return first_failure(results);
  }

  Result<void> run_batch(SocketWork& socket, const std::stop_token& stop) {
    PreparedSchedule& rung = *socket.by.rung;
    const GridPatch& patch = socket.targets.front().patch;
    Result<void> begun = patch.continues ? Result<void>() : rung.forget(work_.job.schedule.whole_steps);
    if (!begun) return begun;
    const OwnTensorsAgain again(rung);
    return run_passes(socket, patch, stop);
  }

  Result<void> run_passes(SocketWork& socket, const GridPatch& patch, const std::stop_token& stop) {
    const std::size_t count = pass_count(geometry_);
    const std::size_t first = static_cast<std::size_t>(patch.phase) * count;
    for (std::size_t pass = first; pass < first + count; ++pass) {
      const Pass& now = geometry_.passes[pass];
      if (now.first_node < 0) read_input(socket, now.shift);
      if (Result<void> ran = run_layers(socket, pass, stop); !ran) return ran;
      if (blender_ || socket.writes_in_place) continue;
      const StageTimer timer(socket.stages.stitch);
      patches_.stitch(pass, socket.by.rung->output(), socket.targets, *socket.by.executor);
    }
    return {};
  }

  Result<void> run_layers(SocketWork& socket, std::size_t pass, const std::stop_token& stop) {
    const StageTimer timer(socket.stages.head);
    return socket.by.rung->run_pass(pass, stop, observer_);
  }

  void read_input(SocketWork& socket, Vec3 shift) const {
    const StageTimer timer(socket.stages.gather);
    const Vec3 begin = geometry_.read_begin + shift;
    for (std::size_t s = 0; s < socket.starts.size(); ++s) socket.starts[s] = socket.targets[s].patch.start + begin;
    leave_frame(socket);
    redirect(socket);
    if (socket.reads_in_place) return;
    const TensorView in = socket.by.rung->input();
    const std::int64_t own = in.shape.S - (socket.guests ? socket.guests->entries() : 0);
    const std::span starts(socket.starts.data(), static_cast<std::size_t>(own));
    patches_.read(starts, entries_of(in, 0, own), *socket.by.executor);
    if (blender_) clear_beyond_window(in, *socket.by.executor);
    if (socket.guests) socket.guests->read(begin, in, *socket.by.executor);
  }

  // Has a pass read and write in the memory of the volume and of the slab, where it can.
  void redirect(SocketWork& socket) const {
    PreparedSchedule& rung = *socket.by.rung;
    std::optional<TensorView> window;
    std::optional<TensorView> place;
    const bool is_alone = S() == 1 && !blender_;
    if (is_alone && rung.reads_volumes()) {
      window = patches_.window_in_place(socket.starts.front(), rung.input().shape.n);
    }
    if (is_alone && rung.writes_volumes()) place = patches_.output_in_place(rung.output().shape, socket.targets);
    if (window && place && overlap(*window, *place)) window.reset();  // a client may give one memory for both
    socket.reads_in_place = window.has_value();
    socket.writes_in_place = place.has_value();
    rung.redirect(window ? &*window : nullptr, place ? &*place : nullptr);
  }

  // Converts places in the framed volume, by which padding is set, to places in the volume itself, which is read.
  void leave_frame(SocketWork& socket) const {
    const Vec3 volume = work_.job.input.volume.shape.n + work_.frame.begin + work_.frame.end;
    if (work_.blend) {
      const std::vector<Vec3> begins(socket.starts.size(), geometry_.read_begin);
      socket.by.rung->place(begins, geometry_.choice.pass_input);
    } else {
      socket.by.rung->place(socket.starts, swap_axes(volume, geometry_.choice.axis));
    }
    for (Vec3& start : socket.starts) start = start - swap_axes(work_.frame.begin, geometry_.choice.axis);
  }

  // Sets zeros around a window, which is a volume of its own, whatever the volume has there.
  void clear_beyond_window(const TensorView& in, Executor& executor) const {
    fill_outside(in, std::vector<Vec3>(sockets_.front().starts.size(), geometry_.read_begin), work_.frame,
                 geometry_.choice.pass_input, 0.0F, executor);
  }

  // Lets guests into the entries behind the socket's own.
  void let_guests_in(std::int64_t free, SocketWork& socket) {
    if (!work_.has_guests || !work_.job.schedule.guests) return;
    std::vector<Guest> guests = work_.job.schedule.guests(free);
    if (guests.empty()) return;
    const Vec3 left = work_.job.input.volume.shape.n - Vec3{work_.job.sink.first_plane, 0, 0};
    socket.guests = std::make_unique<Guests>(std::move(guests), geometry_, left - work_.output.n + Vec3::cube(1));
    ensure(socket.guests->entries() <= free, "no more guests than entries");
    const std::span all(socket.targets);
    socket.guests->aim(all.last(static_cast<std::size_t>(socket.guests->entries())));
  }

  Result<void> aim(std::int64_t first, SocketWork& socket) {
    if (Result<void> aimed = patches_.aim(first, socket.targets); !aimed) return aimed;
    const std::int64_t free = first + S() - patches_.count();
    if (free > 0) let_guests_in(free, socket);
    return {};
  }

  void advance(Seconds predicted) {
    if (!work_.job.account.progress || predicted <= 0) return;
    constexpr double most = 0.99;  // a patch is done when it is stitched
    spent_ += predicted;
    const double whole = work_.predicted * static_cast<double>(range_.sockets);
    const double share = std::min(spent_ / std::max(whole, 1e-9), most);
    patches_.tell_under_way(share * static_cast<double>(patches_of_round()));
  }

  const JobWork& work_;
  const Geometry& geometry_;
  JobPatches& patches_;
  PatchRange range_;
  std::int64_t step_ = 0;  // patches of each socket that are done
  std::vector<SocketWork> sockets_;
  std::mutex mutex_;     // guards the next two, and calls to the job while several sockets run
  StageSeconds layers_;  // nothing else of it
  Seconds spent_ = 0;    // of the round's predicted times, by calls that are done
  CallObserver observer_;
  std::optional<Blender> blender_;
};

}  // namespace

Result<StageSeconds> run_job(const JobWork& work, const std::stop_token& stop) {
  const Geometry& geometry = work.sockets.front().rung->geometry();
  InputWindow input(*work.job.input.source, work.grid, geometry, false, work.frame.begin.z);
  JobPatches patches(work.job, work.grid, geometry, work.output, std::move(input));
  SideBySide strategy(work, patches);
  if (Result<void> ran = patches.run(strategy, stop); !ran) return ran.error();
  return strategy.stages_with_layers();
}

}  // namespace znni
