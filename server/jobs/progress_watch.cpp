#include "server/jobs/progress_watch.hpp"

#include <chrono>
#include <utility>

namespace znni {
namespace {

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void ProgressWatch::beat() { last_ns_ = now_ns(); }

Seconds ProgressWatch::still() const {
  const std::int64_t last = last_ns_;
  return last == 0 ? 0 : static_cast<Seconds>(now_ns() - last) * 1e-9;
}

void keep_watch(ProgressWatch& watch, VolumeJob& job) {
  job.account.progress = [&watch, tell = std::move(job.account.progress)](const JobProgress& progress) {
    watch.beat();
    if (tell) tell(progress);
  };
  job.sink.slab = [&watch, ask = std::move(job.sink.slab)](std::int64_t first_plane, std::int64_t planes) {
    const ProgressWatch::Pause pause(watch);
    return ask(first_plane, planes);
  };
  job.sink.deliver = [&watch, deliver = std::move(job.sink.deliver)](const OutputSlab& slab) {
    const ProgressWatch::Pause pause(watch);
    return deliver(slab);
  };
}

}  // namespace znni
