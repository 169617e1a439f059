#include "planner/costs/row_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace znni {
namespace {

constexpr std::array spaces = {MemorySpace::host, MemorySpace::pinned, MemorySpace::device};

RecordedBytes bytes_in(const SizedRow& row, MemorySpace space) {
  for (const RecordedBytes& bytes : row.memory) {
    if (bytes.space == space) return bytes;
  }
  return {space, 0, 0};
}

bool keeps_the_same(const std::vector<SizedRow>& rows, MemorySpace space) {
  const std::int64_t first = bytes_in(rows.front(), space).persistent;
  return std::all_of(rows.begin(), rows.end(),
                     [&](const SizedRow& row) { return bytes_in(row, space).persistent == first; });
}

std::int64_t scaled(std::int64_t bytes, double factor) {
  return static_cast<std::int64_t>(std::min(9e18, std::ceil(static_cast<double>(bytes) * factor)));
}

Seconds between(const SizedRow& a, const SizedRow& b, double work) {
  const double part = std::log(work / a.work) / std::log(b.work / a.work);
  return a.seconds * std::pow(b.seconds / a.seconds, part);
}

// Returns how time grows with work between two rows, in logarithms: at most twice as fast as work, and in proportion to
// it if there is one row alone.
constexpr double steepest = 2;
double slope(const SizedRow& a, const SizedRow& b) {
  if (a.work == b.work) return 1;
  return std::clamp(std::log(b.seconds / a.seconds) / std::log(b.work / a.work), 0.0, steepest);
}

// Merges two rows of the same work: the mean of their times, the most of their bytes.
SizedRow merged(const SizedRow& a, const SizedRow& b) {
  SizedRow both{a.work, std::min(a.bytes, b.bytes), std::sqrt(a.seconds * b.seconds), {}, a.smoothed || b.smoothed};
  for (const MemorySpace space : spaces) {
    const RecordedBytes one = bytes_in(a, space);
    const RecordedBytes other = bytes_in(b, space);
    both.memory.push_back(
        {space, std::max(one.transient, other.transient), std::max(one.persistent, other.persistent)});
  }
  return both;
}

}  // namespace

RowCurve::RowCurve(std::vector<SizedRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const SizedRow& a, const SizedRow& b) { return a.work < b.work; });
  for (SizedRow& row : rows) {
    if (!rows_.empty() && rows_.back().work == row.work) {
      rows_.back() = merged(rows_.back(), row);
    } else {
      rows_.push_back(std::move(row));
    }
  }
}

CurvePoint RowCurve::at(double work, double bytes) const {
  const auto after = std::lower_bound(rows_.begin(), rows_.end(), work,
                                      [](const SizedRow& row, double wanted) { return row.work < wanted; });
  const SizedRow& upper = after == rows_.end() ? rows_.back() : *after;
  const bool on_row = upper.work == work;
  const SizedRow& lower = on_row || after == rows_.begin() || after == rows_.end() ? upper : *(after - 1);
  CurvePoint point;
  point.inside = on_row || &lower != &upper;
  point.smoothed = lower.smoothed || upper.smoothed;
  const bool beyond = after == rows_.end();
  const std::size_t last = rows_.size() - 1;
  const std::size_t second = std::min<std::size_t>(1, last);
  const double growth = beyond ? slope(rows_[last - second], rows_[last]) : slope(rows_[0], rows_[second]);
  if (on_row) {
    point.seconds = upper.seconds;
  } else if (point.inside) {
    point.seconds = between(lower, upper, work);
  } else {
    point.seconds = upper.seconds * std::pow(work / upper.work, growth);
  }
  for (const MemorySpace space : spaces) {
    const RecordedBytes a = bytes_in(lower, space);
    const RecordedBytes b = bytes_in(upper, space);
    RecordedBytes most{space,
                       std::max(scaled(a.transient, bytes / lower.bytes), scaled(b.transient, bytes / upper.bytes)),
                       std::max(a.persistent, b.persistent)};
    if (on_row && bytes <= upper.bytes) most.transient = b.transient;
    if (beyond && !keeps_the_same(rows_, space)) {
      most.persistent = scaled(most.persistent, std::max(1.0, bytes / upper.bytes));
    }
    if (most.transient > 0 || most.persistent > 0) point.memory.push_back(most);
  }
  return point;
}

double RowCurve::error_without(std::size_t row) const {
  std::vector<SizedRow> others = rows_;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(row));
  const Seconds predicted = RowCurve(std::move(others)).at(rows_[row].work, rows_[row].bytes).seconds;
  return std::exp(std::abs(std::log(predicted / rows_[row].seconds))) - 1;
}

std::vector<double> RowCurve::errors_inside() const {
  std::vector<double> errors;
  for (std::size_t row = 1; row + 1 < rows_.size(); ++row) errors.push_back(error_without(row));
  return errors;
}

std::vector<double> RowCurve::errors_outside() const {
  if (rows_.size() < 2) return {};
  return {error_without(0), error_without(rows_.size() - 1)};
}

}  // namespace znni
