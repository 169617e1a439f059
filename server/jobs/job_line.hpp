// Jobs of one model that came together, from the line to their end. Each waits for its turns or runs as another job's
// guest, and lets others run between its patches. They are counted as one request.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "server/jobs/guest_list.hpp"
#include "server/jobs/model_slot.hpp"
#include "server/jobs/shared_device.hpp"
#include "server/volume/checked_source.hpp"

namespace znni {

class JobLine {
 public:
  // Runs `jobs`, each of which has a rung and gets the model's normalisation. All arguments must outlive this.
  JobLine(ModelSlot& slot, SharedDevice& shared, LoadedModel& model, const LogSink& log, std::span<VolumeJob> jobs,
          std::size_t together);

  // Runs the jobs one after the other, as ModelServer::run_all(). The first `together` stand in the line, and the next
  // ones as those before them end. Jobs with free entries in a batch may take them as guests. Refuses voxels that are
  // NaN or infinite, or replaces and counts them, as the model says. Looks at voxels in memory before a job is in the
  // line, and at others as their planes come. To be called once.
  [[nodiscard]] Result<JobStatistics> run(const std::stop_token& stop);

 private:
  void let_in(std::size_t last);  // jobs before it
  [[nodiscard]] Result<JobStatistics> run_all(const std::stop_token& stop);
  [[nodiscard]] Result<JobStatistics> run_one(std::size_t number, const std::stop_token& stop);
  [[nodiscard]] Result<JobStatistics> run_in_turn(std::size_t number, const std::stop_token& stop);
  [[nodiscard]] Result<void> check_inputs();
  [[nodiscard]] std::int64_t replaced_of(std::size_t number) const;  // voxels of its input
  [[nodiscard]] Result<JobStatistics> compute(std::size_t number, JobTurns& turns, const std::stop_token& stop);
  [[nodiscard]] bool standardises(const VolumeJob& job) const;
  [[nodiscard]] GuestEntries entries_of(const VolumeJob& job) const;
  [[nodiscard]] std::int64_t voxels_of(const VolumeJob& job) const;  // of its output
  [[nodiscard]] std::int64_t all_voxels() const;                     // of all outputs
  [[nodiscard]] std::int64_t held_bytes() const;                     // of all jobs
  void tell_change(bool was_lost) const;

  ModelSlot& slot_;
  SharedDevice& shared_;
  LoadedModel& model_;
  const LogSink& log_;
  const std::span<VolumeJob> jobs_;
  const std::size_t together_;
  JobRecord record_;  // before those that wait, who tell it what they gain as long as they are there
  std::vector<std::unique_ptr<CheckedSource>> sources_;  // per job; of one whose input lies in memory nullptr,
  std::vector<std::int64_t> replaced_;                   // and so many of its voxels
  std::deque<GuestList::Waiting> waiting_;               // of each that is in the line or was; where they stay
};

}  // namespace znni
