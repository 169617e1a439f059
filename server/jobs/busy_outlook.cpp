#include "server/jobs/busy_outlook.hpp"

#include <optional>

namespace znni {
namespace {

constexpr double much_longer = 2;

// `shared`: on a rung whose batch has room for others beside this job.
bool is_worth_sharing(Seconds batch, const JobOutlook& shared, const JobOutlook& fastest, const Company& company) {
  const std::int64_t batches = div_up(company.alike, shared.batch / shared.places);
  const double one_by_one = static_cast<double>(company.alike) * fastest.predicted_seconds;
  if (company.alike > 1 && static_cast<double>(batches) * batch < one_by_one) return true;
  if (!company.busy || shared.predicted_seconds >= fastest.predicted_seconds) return false;
  const bool is_filled = mul(shared.places, company.alike) + company.waiting >= shared.batch;
  return is_filled && batch <= much_longer * fastest.predicted_seconds;
}

}  // namespace

JobOutlook outlook_in_company(const Engine& engine, const VolumeShape& input, ElementType output,
                              const JobOutlook& fastest, const Company& company) {
  const std::optional<JobOutlook> beside =
      company.busy ? engine.outlook_beside_streams(input, output) : std::optional<JobOutlook>();
  const std::optional<JobOutlook> shared =
      company.alike > 0 ? engine.outlook_as_guest(input, output) : std::optional<JobOutlook>();
  const bool keeps_its_lane = shared && (!beside || engine.beside_streams(shared->rung));
  if (keeps_its_lane && is_worth_sharing(engine.plan().ladder[shared->rung].seconds, *shared, fastest, company)) {
    return *shared;
  }
  return beside && beside->predicted_seconds <= much_longer * fastest.predicted_seconds ? *beside : fastest;
}

}  // namespace znni
