#include "server/jobs/load_estimate.hpp"

#include <optional>

namespace znni {
namespace {

constexpr double much_longer = 2;

// Returns true if sharing a batch pays. `shared`: on a rung whose batch has room for others beside this job.
bool is_worth_sharing(Seconds batch, const JobEstimate& shared, const JobEstimate& fastest,
                      const QueueLoad& queue_load) {
  const std::int64_t batches = div_up(queue_load.alike, shared.batch / shared.entries);
  const double one_by_one = static_cast<double>(queue_load.alike) * fastest.predicted_seconds;
  if (queue_load.alike > 1 && static_cast<double>(batches) * batch < one_by_one) return true;
  if (!queue_load.busy || shared.predicted_seconds >= fastest.predicted_seconds) return false;
  const bool is_filled = mul(shared.entries, queue_load.alike) + queue_load.waiting >= shared.batch;
  return is_filled && batch <= much_longer * fastest.predicted_seconds;
}

}  // namespace

JobEstimate estimate_under_load(const Engine& engine, const VolumeShape& input, ElementType output,
                                const JobEstimate& fastest, const QueueLoad& queue_load) {
  const std::optional<JobEstimate> beside =
      queue_load.busy ? engine.estimate_beside_streams(input, output) : std::optional<JobEstimate>();
  const std::optional<JobEstimate> shared =
      queue_load.alike > 0 ? engine.estimate_as_guest(input, output) : std::optional<JobEstimate>();
  const bool keeps_its_queue = shared && (!beside || engine.beside_streams(shared->rung));
  if (keeps_its_queue && is_worth_sharing(engine.plan().ladder[shared->rung].seconds, *shared, fastest, queue_load)) {
    return *shared;
  }
  return beside && beside->predicted_seconds <= much_longer * fastest.predicted_seconds ? *beside : fastest;
}

}  // namespace znni
