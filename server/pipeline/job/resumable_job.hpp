// A job with which another rung can go on after the one that ran it failed. It remembers what was delivered, gives back
// what was not, and tells no voxel of that twice.
#pragma once

#include <vector>

#include "server/pipeline/job/volume_job.hpp"

namespace znni {

// A source that is wanted by one after the other: what was wanted once stays wanted.
class RisingSource final : public PlaneSource {
 public:
  explicit RisingSource(PlaneSource& source) : source_(source) {}

  [[nodiscard]] const VolumeShape& shape() const override { return source_.shape(); }
  void want(const PlaneRange& planes) override;
  [[nodiscard]] bool here() const override { return source_.here(); }
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override { return source_.wait(stop); }
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    return source_.plane(channel, z);
  }

 private:
  PlaneSource& source_;
  PlaneRange most_;
};

class ResumableJob {
 public:
  // Splits `whole`, which must outlive this. This must outlive the run of job(), which has a source, that of `whole` or
  // its input.
  explicit ResumableJob(const VolumeJob& whole);
  ResumableJob(const ResumableJob&) = delete;
  ResumableJob& operator=(const ResumableJob&) = delete;

  [[nodiscard]] const VolumeJob& job() const { return job_; }
  // Gives back the slabs that are open: job() then begins with the first plane that was not delivered.
  void go_back();

 private:
  void tell(JobGain gain);

  const VolumeJob& whole_;
  WholeVolume input_;
  RisingSource source_;
  VolumeJob job_;
  std::int64_t next_plane_;     // behind those that were delivered
  std::int64_t delivered_ = 0;  // voxels of the output, as the next two
  std::int64_t computed_ = 0;   // of those that count: what was abandoned is computed once more
  std::int64_t told_ = 0;
  std::vector<OutputSlab> open_;  // asked for and not delivered
};

}  // namespace znni
