#include "planner/costs/likely_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "planner/costs/calibration.hpp"
#include "planner/costs/local_lines.hpp"

namespace znni {
namespace {

// Fewer than these tell nothing of a variance.
constexpr std::size_t enough = 8;
// Deviations of noise beyond which a difference is real: of a row from its line, and of the step between two rows.
constexpr double deviations_of_row = 4;
constexpr double deviations_of_jump = 3;
// Standard errors by which a mean may be above zero by chance.
constexpr double errors_of_chance = 2;
// A layer takes so much more or less in another process, however well the samples of one agree.
constexpr double deviation_of_processes = 0.01;
// The mean of the lower half of n samples has this variance, times n, over that of one.
constexpr double variance_of_half = 1.4;
// A median of deviations from 0 becomes a standard deviation.
constexpr double median_to_deviation = 1.4826;
// Lines reach to either side as far as work is so many times as much.
constexpr std::array reaches_of_lines = {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0};

double square(double value) { return value * value; }

struct Statistic {
  double mean = 0;
  double error = 0;  // its standard error
};

Statistic statistic_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += square(value - mean);
  return {mean, std::sqrt(squares) / count};
}

double beyond_chance(const Statistic& statistic, double errors) {
  return std::max(0.0, statistic.mean - errors * statistic.error);
}

// Returns the variance of samples about the means of their rows.
double variance_within(const std::vector<NoisyCurve>& curves) {
  double sum = 0;
  double count = 0;
  for (const NoisyCurve& curve : curves) {
    for (const NoisyRow& row : curve) {
      sum += static_cast<double>(row.noise.samples - 1) * row.noise.variance;
      count += static_cast<double>(row.noise.samples - 1);
    }
  }
  return count > 0 ? sum / count : 0;
}

// Returns nothing of a single sample. The samples of a row, few as they are, count as much as those of all.
std::optional<double> variance_of(const RowNoise& noise, double within) {
  if (noise.samples < 2) return std::nullopt;
  return (within + noise.variance) / 2 * variance_of_half / static_cast<double>(noise.samples) +
         square(deviation_of_processes) + square(noise.waited);
}

// A curve by rising work, in logarithms.
struct SortedCurve {
  std::vector<std::size_t> rows;  // of the curve as it was given
  CurvePlaces places;
  std::vector<std::optional<double>> known;  // variances of rows with several samples
  std::vector<Stretch> stretches;            // of each place, the one that it lies in
};

SortedCurve sorted(const NoisyCurve& curve, double within) {
  SortedCurve made;
  made.rows.resize(curve.size());
  std::iota(made.rows.begin(), made.rows.end(), std::size_t{0});
  std::stable_sort(made.rows.begin(), made.rows.end(),
                   [&](std::size_t a, std::size_t b) { return curve[a].work < curve[b].work; });
  for (const std::size_t row : made.rows) {
    made.places.push_back({std::log(curve[row].work), std::log(curve[row].seconds)});
    made.known.push_back(variance_of(curve[row].noise, within));
  }
  if (!curve.empty()) made.stretches.assign(curve.size(), {0, curve.size() - 1});
  return made;
}

std::vector<double> variances_of(const SortedCurve& curve, double unknown) {
  std::vector<double> variances;
  for (const std::optional<double>& known : curve.known) variances.push_back(known.value_or(unknown));
  return variances;
}

void cut_at_jumps(SortedCurve& curve, double unknown) {
  const std::vector<double> variances = variances_of(curve, unknown);
  std::size_t first = 0;
  for (std::size_t place = 0; place < curve.places.size(); ++place) {
    const bool is_last = place + 1 == curve.places.size();
    const std::optional<Contrast> jump = is_last ? std::nullopt : jump_behind(curve.places, place);
    // Roundings of logarithms are not jumps.
    const bool jumps =
        jump && square(jump->value(curve.places)) > square(deviations_of_jump) * jump->variance(variances) + 1e-18;
    if (!jumps && !is_last) continue;
    for (std::size_t own = first; own <= place; ++own) curve.stretches[own] = {first, place};
    first = place + 1;
  }
}

// Tells what the line through its neighbours says of a row.
struct PlacedRow {
  std::size_t curve = 0;
  std::size_t place = 0;
  LineValue line;
  double residual = 0;  // above the line
  [[nodiscard]] double scaled() const { return residual / std::sqrt(1 + line.variance); }
};

class LikelyRows {
 public:
  explicit LikelyRows(const std::vector<NoisyCurve>& curves) : given_(curves) {
    const double within = variance_within(curves);
    for (const NoisyCurve& curve : curves) curves_.push_back(sorted(curve, within));
  }

  std::vector<std::vector<Seconds>> seconds() {
    std::vector<std::vector<Seconds>> likely;
    for (const NoisyCurve& curve : given_) {
      likely.emplace_back();
      for (const NoisyRow& row : curve) likely.back().push_back(row.seconds);
    }
    if (!find_noise() || !lay_lines()) return likely;
    find_what_is_real();
    for (const PlacedRow& row : rows_) {
      const std::size_t own = curves_[row.curve].rows[row.place];
      likely[row.curve][own] *= std::exp(-weight_of_line(row) * row.residual);
    }
    return likely;
  }

 private:
  // Finds jumps by what the middle of the rows leaves, and the noise of single samples between jumps. False where too
  // few rows tell.
  bool find_noise() {
    std::vector<double> off;
    for (const SortedCurve& curve : curves_) append_off_cubic(curve, false, off);
    if (off.size() < enough) return false;
    for (double& each : off) each = std::sqrt(each);
    noise_ = square(median_to_deviation * median(off));
    for (SortedCurve& curve : curves_) cut_at_jumps(curve, noise_);
    std::vector<double> squares;
    for (const SortedCurve& curve : curves_) append_off_cubic(curve, true, squares);
    if (squares.size() >= enough) noise_ = statistic_of(squares).mean;
    return true;
  }

  // Appends squares of what a smooth law leaves, over their variance: of all rows, or of single samples within a
  // stretch.
  static void append_off_cubic(const SortedCurve& curve, bool within_stretches, std::vector<double>& squares) {
    for (std::size_t place = 0; place < curve.places.size(); ++place) {
      const Stretch& own = curve.stretches[place];
      const bool is_inside = place >= own.first + 2 && place + 2 <= own.last && !curve.known[place];
      if (within_stretches && !is_inside) continue;
      const std::optional<Contrast> off = off_cubic(curve.places, place);
      if (off) squares.push_back(square(off->value(curve.places)) / off->norm());
    }
  }

  [[nodiscard]] std::optional<PlacedRow> laid(std::size_t curve, std::size_t place, double reach) const {
    const SortedCurve& own = curves_[curve];
    const std::optional<LineValue> line = line_of_others(own.places, own.stretches[place], place, reach);
    if (!line) return std::nullopt;
    return PlacedRow{curve, place, *line, own.places[place].y - line->y};
  }

  [[nodiscard]] std::vector<PlacedRow> laid_rows(double reach, bool between_others) const {
    std::vector<PlacedRow> rows;
    for (std::size_t curve = 0; curve < curves_.size(); ++curve) {
      for (std::size_t place = 0; place < curves_[curve].places.size(); ++place) {
        const Stretch& own = curves_[curve].stretches[place];
        if (between_others && (place == own.first || place == own.last)) continue;
        if (const std::optional<PlacedRow> row = laid(curve, place, reach)) rows.push_back(*row);
      }
    }
    return rows;
  }

  // Returns rows between others, as lines of each reach predict them.
  [[nodiscard]] std::vector<std::vector<PlacedRow>> tried_lines() const {
    std::vector<std::vector<PlacedRow>> tried = {laid_rows(std::log(reaches_of_lines.front()), true)};
    for (std::size_t i = 1; i < reaches_of_lines.size(); ++i) {
      tried.emplace_back();
      for (const PlacedRow& row : tried.front()) {
        tried.back().push_back(laid(row.curve, row.place, std::log(reaches_of_lines[i])).value_or(row));
      }
    }
    return tried;
  }

  // Takes the widest lines that predict rows between others no worse than the best ones, but by chance. False where
  // too few rows tell.
  bool lay_lines() {
    const std::vector<std::vector<PlacedRow>> tried = tried_lines();
    if (tried.front().size() < enough) return false;
    std::size_t best = 0;
    for (std::size_t i = 1; i < tried.size(); ++i) {
      if (how_much_worse(tried[i], tried[best]).mean < 0) best = i;
    }
    std::size_t widest = tried.size() - 1;
    while (widest > best && beyond_chance(how_much_worse(tried[widest], tried[best]), errors_of_chance) > 0) --widest;
    rows_ = laid_rows(std::log(reaches_of_lines[widest]), false);
    return true;
  }

  static Statistic how_much_worse(const std::vector<PlacedRow>& rows, const std::vector<PlacedRow>& others) {
    std::vector<double> more;
    for (std::size_t i = 0; i < rows.size(); ++i) more.push_back(square(rows[i].residual) - square(others[i].residual));
    return statistic_of(more);
  }

  [[nodiscard]] double noise_of_row(const PlacedRow& row) const {
    return curves_[row.curve].known[row.place].value_or(noise_);
  }

  // Finds the variance that is real: what rows of the same extents have in common in several curves, and what noise
  // does not explain.
  void find_what_is_real() {
    std::map<std::string, std::vector<double>> of_extents;
    for (const PlacedRow& row : rows_) {
      const NoisyRow& given = given_[row.curve][curves_[row.curve].rows[row.place]];
      of_extents[given.extents].push_back(row.scaled());
    }
    std::vector<double> products;
    for (const auto& [extents, values] : of_extents) {
      if (values.size() > 1) products.push_back(mean_product(values));
    }
    if (products.size() >= enough) real_ = beyond_chance(statistic_of(products), 1);
    noise_ = std::max(0.0, noise_ - real_);
    std::vector<double> unexplained;
    for (const PlacedRow& row : rows_) unexplained.push_back(square(row.scaled()) - noise_of_row(row));
    real_ = std::max(real_, beyond_chance(statistic_of(unexplained), errors_of_chance));
  }

  // Returns the mean product of two of the values.
  static double mean_product(const std::vector<double>& values) {
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
      sum += value;
      squares += square(value);
    }
    const auto count = static_cast<double>(values.size());
    return (square(sum) - squares) / (count * (count - 1));
  }

  [[nodiscard]] double weight_of_line(const PlacedRow& row) const {
    const double noise = noise_of_row(row);
    if (square(row.scaled()) > square(deviations_of_row) * noise) return 0;
    const double all = noise + real_ + row.line.variance * noise;
    return all > 0 ? noise / all : 0;
  }

  const std::vector<NoisyCurve>& given_;
  std::vector<SortedCurve> curves_;
  std::vector<PlacedRow> rows_;
  double noise_ = 0;  // variance of single samples
  double real_ = 0;   // variance of what is real above lines
};

}  // namespace

RowNoise noise_of(const TimingRecord& record) {
  std::vector<double> logarithms;
  for (const Seconds sample : record.samples) {
    if (sample > 0) logarithms.push_back(std::log(sample));
  }
  RowNoise noise{std::max<std::size_t>(1, logarithms.size()), 0, record.waited};
  if (logarithms.size() < 2) return noise;
  const double mean = statistic_of(logarithms).mean;
  for (const double each : logarithms) noise.variance += square(each - mean);
  noise.variance /= static_cast<double>(logarithms.size() - 1);
  return noise;
}

std::vector<std::vector<Seconds>> likely_seconds(const std::vector<NoisyCurve>& curves) {
  return LikelyRows(curves).seconds();
}

}  // namespace znni
