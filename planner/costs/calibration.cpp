#include "planner/costs/calibration.hpp"

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

// Fewer predictions than these say nothing of one primitive alone.
constexpr std::size_t enough_errors = 4;
// Most rows of one primitive that are predicted. More would tell its error no better, and each is predicted from all
// the others.
constexpr std::size_t max_predicted = 256;
// Least error of a correction.
constexpr double min_error = 0.02;

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

// Weight of a row of a busy machine, beside one of an idle machine.
constexpr double busy_weight = 0.05;

// Returns how near a recorded layer is to the one asked for, from distances of logarithms: 1 for the same size, about
// 0.16 for a tenth of the time.
double nearness(double modelled, double window) { return 1 / (1 + modelled * modelled + 4 * window * window); }

// Weight of the estimate of the farther rows beside the rows of a level, and of the formula beside all rows of a
// primitive: that of one near row. Learned, as the distances above, by predicting plans that were run: the minimum is
// flat.
constexpr double weight_of_farther = 1;
// The farthest level of a primitive's own rows; behind it are those of the same family by others.
constexpr std::size_t own_rows = 3;

// Returns a logarithm of predicted over recorded as a share, in the worse direction.
double share(double log_ratio) { return std::exp(std::abs(log_ratio)) - 1; }

}  // namespace

double ninth_decile(std::vector<double> values) { return quantile(values, 0.9); }
double median(std::vector<double> values) { return quantile(values, 0.5); }

bool Calibration::Without::has(std::size_t row) const {
  return row == self || (rows != nullptr && std::binary_search(rows->begin(), rows->end(), row));
}

std::string Calibration::key(std::size_t level, const Observation& of) {
  const std::string mark = std::to_string(level) + "|";
  switch (level) {
    case 0: return mark + of.primitive + "|" + of.way + "|" + of.family;
    case 1: return mark + of.primitive + "|" + of.family;
    case 2: return mark + of.primitive + "|" + of.kernel;
    case 3: return mark + of.primitive;
    default: return mark + of.family;
  }
}

const Calibration::Rows* Calibration::rows_of(std::size_t level, const Observation& of) const {
  const auto found = groups_.find(key(level, of));
  return found == groups_.end() ? nullptr : &found->second;
}

Calibration::Row Calibration::row_of(const Observation& of) {
  return {std::log(of.modelled), std::log(of.window), of.seconds > 0 ? std::log(of.seconds / of.modelled) : 0,
          of.busy ? busy_weight : 1};
}

bool Calibration::mean(const Rows& rows, const Without& without, const Row& question, double of_before,
                       double& result) const {
  double sum = of_before * result;
  double weights = 0;
  for (const std::size_t row : rows) {
    if (without.has(row)) continue;
    const double near =
        nearness(rows_[row].log_modelled - question.log_modelled, rows_[row].log_window - question.log_window);
    sum += rows_[row].weight * near * rows_[row].log_ratio;
    weights += rows_[row].weight * near;
  }
  if (weights <= 0) return false;
  result = sum / (weights + of_before);
  return true;
}

double Calibration::mean_of_all(const Rows& rows, const Without& without) const {
  double sum = 0;
  double weights = weight_of_farther;
  for (const std::size_t row : rows) {
    if (without.has(row)) continue;
    sum += rows_[row].weight * rows_[row].log_ratio;
    weights += rows_[row].weight;
  }
  return sum / weights;
}

bool Calibration::predict(std::size_t nearest, const Observation& of, const Without& without, double& result) const {
  const Row question = row_of(of);
  const Rows* rows = rows_of(nearest, of);
  result = 0;
  if (rows == nullptr) return false;
  if (nearest > own_rows) return mean(*rows, without, question, 0, result);
  const auto known = without.nothing() ? means_.find(of.primitive) : means_.end();
  result = known != means_.end() ? known->second : mean_of_all(*rows_of(own_rows, of), without);
  for (std::size_t level = own_rows; level > nearest; --level) {
    const Rows* far = rows_of(level, of);
    if (far != nullptr) mean(*far, without, question, weight_of_farther, result);
  }
  return mean(*rows, without, question, weight_of_farther, result);
}

Calibration::Calibration(std::vector<Observation> rows) {
  // If all rows are busy, they count in full.
  const bool all_busy = std::all_of(rows.begin(), rows.end(), [](const Observation& row) { return row.busy; });
  for (Observation& row : rows) row.busy = row.busy && !all_busy;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows_.push_back(row_of(rows[row]));
    for (std::size_t level = 0; level < levels; ++level) groups_[key(level, rows[row])].push_back(row);
  }
  for (const Observation& row : rows) {
    if (!means_.contains(row.primitive)) means_[row.primitive] = mean_of_all(*rows_of(own_rows, row), {});
  }
  find_errors(rows);
}

// Returns the rows, or some of them, spread from the shortest to the longest, if they are many.
Calibration::Rows Calibration::spread(Rows rows) const {
  if (rows.size() <= max_predicted) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return rows_[a].log_modelled < rows_[b].log_modelled; });
  Rows some;
  for (std::size_t i = 0; i < max_predicted; ++i) some.push_back(rows[i * rows.size() / max_predicted]);
  return some;
}

// Finds the errors of predictions. Rows of a busy machine are left out, because their error is the machine's.
void Calibration::find_errors(const std::vector<Observation>& rows) {
  std::map<std::string, Rows> all;
  std::map<std::string, Rows> calm;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    all[rows[row].primitive].push_back(row);
    if (!rows[row].busy) calm[rows[row].primitive].push_back(row);
  }
  LevelErrors errors;
  std::vector<double> nearest(rows.size(), -1);
  for (const auto& [primitive, own] : calm) {
    for (const std::size_t row : spread(own)) nearest[row] = add_errors(row, rows[row], errors);
  }
  for (std::size_t level = 0; level < levels; ++level) {
    for (const auto& [whose, values] : errors[level]) {
      if (values.size() >= enough_errors) errors_[level][whose] = std::max(min_error, ninth_decile(values));
    }
  }
  for (const auto& [primitive, own] : all) summarise(primitive, own, nearest);
}

double Calibration::add_errors(std::size_t row, const Observation& of, LevelErrors& errors) const {
  double nearest = -1;
  for (std::size_t level = 0; level < levels; ++level) {
    const Without without{level == 0 ? nullptr : rows_of(level - 1, of), row};
    double predicted = 0;
    if (!predict(level, of, without, predicted)) continue;
    const double error = share(predicted - rows_[row].log_ratio);
    for (const std::string& whose : {of.primitive, std::string()}) errors[level][whose].push_back(error);
    if (nearest < 0) nearest = error;
  }
  return nearest;
}

void Calibration::summarise(const std::string& primitive, const Rows& own, const std::vector<double>& nearest) {
  std::vector<double> after;
  std::vector<double> before;
  std::vector<double> ratios;
  for (const std::size_t row : own) {
    if (nearest[row] >= 0) after.push_back(nearest[row]);
    before.push_back(share(rows_[row].log_ratio));
    ratios.push_back(std::exp(rows_[row].log_ratio));
  }
  residuals_.push_back({primitive, after.size(), median(ratios), median(after), ninth_decile(after), median(before),
                        ninth_decile(before)});
}

double Calibration::error_of(std::size_t level, const std::string& primitive) const {
  for (; level < levels; ++level) {
    for (const std::string& whose : {primitive, std::string()}) {
      const auto found = errors_[level].find(whose);
      if (found != errors_[level].end()) return found->second;
    }
  }
  return 0;
}

Correction Calibration::correct(const Observation& question) const {
  if (rows_.empty() || question.modelled <= 0) return {};
  for (std::size_t level = 0; level < levels; ++level) {
    double predicted = 0;
    if (!predict(level, question, {}, predicted)) continue;
    return {std::exp(predicted), error_of(level, question.primitive)};
  }
  return {};
}

std::vector<Calibration::Residuals> Calibration::residuals() const { return residuals_; }

}  // namespace znni
