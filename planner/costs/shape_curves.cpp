#include "planner/costs/shape_curves.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace znni {
namespace {

// Stands for an axis that the input lacks: it is as flat for any extent of the others.
constexpr int flat = -64;

int halvings(std::int64_t a, std::int64_t b) {
  if (a == 1) return flat;
  return static_cast<int>(std::lround(std::log2(static_cast<double>(a) / static_cast<double>(b))));
}

int distance(Proportions a, Proportions b) { return std::abs(a.z_to_x - b.z_to_x) + std::abs(a.y_to_x - b.y_to_x); }

// Returns what a curve of `S` inputs says of `wanted` inputs of the same extents.
CurvePoint scaled(const RowCurve& curve, std::int64_t S, std::int64_t wanted, double work, double bytes) {
  const auto own = static_cast<double>(S);
  const auto other = static_cast<double>(wanted);
  const double factor = other / own;
  CurvePoint point = curve.at(work * own / other, bytes * own / other);
  point.seconds *= factor;
  for (RecordedBytes& each : point.memory) {
    each.transient = static_cast<std::int64_t>(std::min(9e18, std::ceil(static_cast<double>(each.transient) * factor)));
  }
  return point;
}

// Returns for each space the larger of what two points hold.
std::vector<RecordedBytes> larger(const std::vector<RecordedBytes>& a, const std::vector<RecordedBytes>& b) {
  std::vector<RecordedBytes> both = a;
  for (const RecordedBytes& other : b) {
    const auto same =
        std::find_if(both.begin(), both.end(), [&](const RecordedBytes& each) { return each.space == other.space; });
    if (same == both.end()) {
      both.push_back(other);
    } else {
      same->transient = std::max(same->transient, other.transient);
      same->persistent = std::max(same->persistent, other.persistent);
    }
  }
  return both;
}

// Returns the point that lies `part` of the way from a to b, in logarithms.
CurvePoint between(const CurvePoint& a, const CurvePoint& b, double part) {
  return {a.seconds * std::pow(b.seconds / a.seconds, part), a.inside && b.inside, larger(a.memory, b.memory),
          a.smoothed || b.smoothed};
}

double error_of(Seconds predicted, Seconds taken) { return std::max(predicted / taken, taken / predicted) - 1; }

}  // namespace

Proportions proportions(Vec3 n) { return {halvings(n.z, n.x), halvings(n.y, n.x)}; }

ShapeCurves::ShapeCurves(const std::vector<ShapedRow>& rows) : rows_(rows) {
  std::map<Proportions, std::map<std::int64_t, std::vector<SizedRow>>> sorted;
  for (const ShapedRow& each : rows) sorted[proportions(each.input.n)][each.input.S].push_back(each.row);
  for (auto& [shape, by_S] : sorted) {
    for (auto& [S, own] : by_S) curves_[shape].emplace(S, RowCurve(std::move(own)));
  }
}

const ShapeCurves::CurvesByS& ShapeCurves::nearest(Proportions wanted) const {
  return std::min_element(
             curves_.begin(), curves_.end(),
             [&](const auto& a, const auto& b) { return distance(a.first, wanted) < distance(b.first, wanted); })
      ->second;
}

CurvePoint ShapeCurves::at(const Shape5& input, double work, double bytes) const {
  const Proportions wanted = proportions(input.n);
  const CurvesByS& curves = nearest(wanted);
  const auto above = curves.lower_bound(input.S);
  const auto upper = above == curves.end() ? std::prev(above) : above;
  const auto lower = above == curves.begin() || upper->first <= input.S ? upper : std::prev(upper);
  CurvePoint point = scaled(upper->second, upper->first, input.S, work, bytes);
  if (lower != upper) {
    const double part = std::log(static_cast<double>(input.S) / static_cast<double>(lower->first)) /
                        std::log(static_cast<double>(upper->first) / static_cast<double>(lower->first));
    point = between(scaled(lower->second, lower->first, input.S, work, bytes), point, part);
  }
  const bool beyond = lower == upper && upper->first != input.S;
  point.inside = point.inside && !beyond && curves_.contains(wanted);
  return point;
}

std::vector<double> ShapeCurves::errors_inside() const {
  std::vector<double> errors;
  for (const auto& [shape, curves] : curves_) {
    for (const auto& [S, curve] : curves) {
      const std::vector<double> own = curve.errors_inside();
      errors.insert(errors.end(), own.begin(), own.end());
    }
  }
  return errors;
}

std::vector<double> ShapeCurves::errors_outside() const {
  std::vector<double> errors = errors_between_curves();
  for (const auto& [shape, curves] : curves_) {
    for (const auto& [S, curve] : curves) {
      const std::vector<double> own = curve.errors_outside();
      errors.insert(errors.end(), own.begin(), own.end());
    }
  }
  return errors;
}

std::vector<double> ShapeCurves::errors_between_curves() const {
  std::vector<double> errors;
  for (const auto& [shape, curves] : curves_) {
    for (const auto& [S, curve] : curves) {
      std::vector<ShapedRow> own;
      std::vector<ShapedRow> others;
      std::partition_copy(rows_.begin(), rows_.end(), std::back_inserter(own), std::back_inserter(others),
                          [&, like = std::pair(shape, S)](const ShapedRow& each) {
                            return std::pair(proportions(each.input.n), each.input.S) == like;
                          });
      if (others.empty()) continue;
      const ShapeCurves without(others);
      for (const ShapedRow& each : own) {
        errors.push_back(error_of(without.at(each.input, each.row.work, each.row.bytes).seconds, each.row.seconds));
      }
    }
  }
  return errors;
}

}  // namespace znni
