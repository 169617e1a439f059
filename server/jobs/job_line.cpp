#include "server/jobs/job_line.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "server/volume/volume_statistics.hpp"

namespace znni {
namespace {

// Lets others run, and counts for how long.
Result<void> give_way(JobTurns& turns, const Interval& interval, const VolumeJob& job, ProgressWatch& watch,
                      JobRecord& record, const std::stop_token& stop) {
  const auto before = std::chrono::steady_clock::now();
  Result<void> back;
  {
    const ProgressWatch::Pause pause(watch);
    back =
        interval.within_stream ? turns.lend_device(stop, job.sink.has_room) : turns.give_way(stop, job.sink.has_room);
  }
  record.stood_aside(std::chrono::steady_clock::now() - before);
  return back;
}

JobStatistics noted(JobStatistics done, std::int64_t voxels, std::int64_t replaced, JobRecord& record) {
  done.replaced = replaced;
  done.queued = record.queued();
  done.yielded = record.yielded();
  record.ran(done, voxels);
  return done;
}

}  // namespace

JobLine::JobLine(ModelSlot& slot, SharedDevice& shared, LoadedModel& model, const LogSink& log,
                 std::span<VolumeJob> jobs, std::size_t together)
    : slot_(slot),
      shared_(shared),
      model_(model),
      log_(log),
      jobs_(jobs),
      together_(together),
      record_(slot, held_bytes(), all_voxels()) {
  for (VolumeJob& job : jobs_) {
    const Normalisation& own = model_.planned.input.normalisation;
    job.input.normalisation = job.input.normalised ? Normalisation{1.0F, 0.0F, own.instead} : own;
    job.account.gained = [this, tell = std::move(job.account.gained)](const JobGain& gain) {
      record_.gained(gain);
      if (tell) tell(gain);
    };
  }
}

Result<void> JobLine::check_inputs() {
  for (VolumeJob& job : jobs_) {
    replaced_.push_back(0);
    sources_.push_back(nullptr);
    if (job.input.source != nullptr) {
      sources_.back() = std::make_unique<CheckedSource>(*job.input.source, job.input.normalisation.instead);
      job.input.source = sources_.back().get();
      continue;
    }
    const Result<std::int64_t> found =
        check_volume(job.input.volume, job.sink.first_plane, job.input.normalisation.instead);
    if (!found && jobs_.size() == 1) return found.error();
    if (!found) return found.error().within("volume " + std::to_string(replaced_.size()) + " of the batch");
    replaced_.back() = *found;
  }
  return {};
}

std::int64_t JobLine::replaced_of(std::size_t number) const {
  return sources_[number] ? sources_[number]->replaced() : replaced_[number];
}

void JobLine::let_in(std::size_t last) {
  while (waiting_.size() < std::min(last, jobs_.size())) {
    const VolumeJob& job = jobs_[waiting_.size()];
    waiting_.emplace_back(slot_.guests(), job, entries_of(job));
  }
}

bool JobLine::standardises(const VolumeJob& job) const { return model_.planned.input.zscore && !job.input.normalised; }

GuestEntries JobLine::entries_of(const VolumeJob& job) const {
  const bool in_memory = job.input.source == nullptr && job.sink.first_plane == 0;
  if (!in_memory || standardises(job)) return {};
  const std::optional<JobEstimate> shared = model_.engine->estimate_as_guest(job.input.volume.shape, job.sink.type);
  return {model_.engine->guest_entries(job), shared ? shared->entries : 0};
}

std::int64_t JobLine::voxels_of(const VolumeJob& job) const {
  const Vec3 skipped{job.sink.first_plane, 0, 0};
  return voxels(job.input.volume.shape.n - skipped - model_.engine->field_of_view() + Vec3::cube(1));
}

std::int64_t JobLine::all_voxels() const {
  std::int64_t sum = 0;
  for (const VolumeJob& job : jobs_) sum = add(sum, voxels_of(job));
  return sum;
}

std::int64_t JobLine::held_bytes() const {
  std::int64_t bytes = 0;
  for (const VolumeJob& job : jobs_) bytes = add(bytes, job.account.held_bytes);
  return bytes;
}

Result<JobStatistics> JobLine::run(const std::stop_token& stop) {
  const Result<void> sound = check_inputs();
  Result<JobStatistics> done = sound ? run_all(stop) : Result<JobStatistics>(sound.error());
  record_.ended(done ? nullptr : &done.error());
  return done;
}

Result<JobStatistics> JobLine::run_all(const std::stop_token& stop) {
  JobStatistics all;
  all.is_guest = true;
  std::int64_t computed = 0;
  for (std::size_t number = 0; number < jobs_.size(); ++number) {
    let_in(number + together_);
    const Result<JobStatistics> done = run_one(number, stop);
    if (!done) return done;
    all += *done;
    computed = add(computed, voxels_of(jobs_[number]));
  }
  all.voxels_per_second = static_cast<double>(computed) / std::max(all.seconds, 1e-9);
  return all;
}

Result<JobStatistics> JobLine::run_one(std::size_t number, const std::stop_token& stop) {
  const bool has_run = waiting_[number].has_run();
  Result<JobStatistics> done = run_in_turn(number, stop);
  if (done && has_run && number > 0) done->seconds = 0;  // while one before it was waited for
  return done;
}

Result<JobStatistics> JobLine::run_in_turn(std::size_t number, const std::stop_token& stop) {
  VolumeJob& job = jobs_[number];
  const bool beside_streams = model_.engine->beside_streams(*job.schedule.rung);
  JobTurns turns(beside_streams ? slot_.between_steps() : slot_.queue(), shared_.turns,
                 rank_of_priority(job.schedule.priority));
  const auto tell = [&job](bool in_turn) {
    if (job.account.in_turn) job.account.in_turn(in_turn);
  };
  const WaitEvents events = {[&] {
                               record_.in_line();
                               tell(false);
                             },
                             [&] {
                               record_.started();
                               tell(true);
                             }};
  const Result<std::optional<JobStatistics>> as_guest =
      take_turn_or_run_as_guest(waiting_[number], turns, number > 0, events, stop);
  if (!as_guest) return as_guest.error();
  return *as_guest ? noted(**as_guest, voxels_of(job), replaced_of(number), record_) : compute(number, turns, stop);
}

Result<JobStatistics> JobLine::compute(std::size_t number, JobTurns& turns, const std::stop_token& stop) {
  VolumeJob& job = jobs_[number];
  const ProgressWatch::Work work(shared_.watch);
  keep_watch(shared_.watch, job);
  job.schedule.between_patches = [&](const Interval& interval) {
    return give_way(turns, interval, job, shared_.watch, record_, stop);
  };
  job.schedule.wanted = [&](const Interval& interval) {
    return turns.wanted(job.sink.has_room, interval.within_stream);
  };
  job.schedule.guests = [this, rung = *job.schedule.rung](std::int64_t free) {
    return slot_.guests().take(rung, free);
  };
  if (standardises(job))
    job.input.normalisation = standardising(job.input.volume, job.input.normalisation, shared_.device->executor());
  const bool was_lost = model_.engine->gpu_lost().has_value();
  const Result<JobStatistics> done = model_.engine->run(job, stop);
  shared_.gpu.look_for_loss(model_.engine.get(), done ? nullptr : &done.error(), false, log_);
  tell_change(was_lost);
  return done ? noted(*done, voxels_of(job), replaced_of(number), record_) : done;
}

// Logs that the job lost the GPU, or found that it works again.
void JobLine::tell_change(bool was_lost) const {
  const std::optional<std::string> lost = model_.engine->gpu_lost();
  if (lost.has_value() == was_lost) return;
  const std::string of_model = "model '" + slot_.entry().name + "': ";
  if (!lost) return log_to(log_, "info", of_model + "the GPU works again");
  const std::string until = model_.engine->gpu_lost_for_good() ? "for good" : "until the GPU works again";
  log_to(log_, "error", of_model + "the CPU takes over " + until + ", for it failed: " + *lost);
}

}  // namespace znni
