#include "server/train/validation/score_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace znni {

ScoreHistogram::ScoreHistogram() : bins_(static_cast<std::size_t>(bins)) {}

void ScoreHistogram::add(float score, bool is_one) {
  const double place = std::floor((static_cast<double>(score) + reach) * bins_per_unit);
  Bin& bin = bins_[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))];
  ++(is_one ? bin.ones : bin.zeros);
}

std::optional<PrecisionRecall> ScoreHistogram::measure() const {
  double ones = 0;
  for (const Bin& bin : bins_) ones += static_cast<double>(bin.ones);
  if (ones == 0) return std::nullopt;
  PrecisionRecall found;
  double hits = 0;
  double taken = 0;
  for (std::int64_t at = bins - 1; at >= 0; --at) {
    const Bin& bin = bins_[static_cast<std::size_t>(at)];
    if (bin.ones == 0) {
      taken += static_cast<double>(bin.zeros);
      continue;
    }
    hits += static_cast<double>(bin.ones);
    taken += static_cast<double>(bin.ones + bin.zeros);
    found.average_precision += hits / taken * static_cast<double>(bin.ones) / ones;
    const double f1 = 2 * hits / (taken + ones);  // with precision = hits / taken and recall = hits / ones
    if (f1 <= found.best_f1) continue;
    found.best_f1 = f1;
    found.best_threshold = static_cast<double>(at) / bins_per_unit - reach;
  }
  return found;
}

}  // namespace znni
