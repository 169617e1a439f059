#include "server/jobs/busy_outlook.hpp"

#include <optional>

namespace znni {

JobOutlook outlook_while_busy(const Engine& engine, const VolumeShape& input, ElementType output,
                              const JobOutlook& fastest, std::int64_t waiting) {
  constexpr double much_longer = 2;
  const std::optional<JobOutlook> beside = engine.outlook_beside_streams(input, output);
  const std::optional<JobOutlook> shared = engine.outlook_as_guest(input, output);
  const bool keeps_its_lane = shared && (!beside || engine.beside_streams(shared->rung));
  if (keeps_its_lane && shared->predicted_seconds < fastest.predicted_seconds) {
    const Rung& rung = engine.plan().ladder[shared->rung];
    const bool fill_it = shared->patches * (waiting + 1) >= rung.geometry.S;
    if (fill_it && rung.seconds <= much_longer * fastest.predicted_seconds) return *shared;
  }
  return beside && beside->predicted_seconds <= much_longer * fastest.predicted_seconds ? *beside : fastest;
}

}  // namespace znni
