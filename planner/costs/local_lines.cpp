#include "planner/costs/local_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace znni {
namespace {

// Nearer points have the same x.
constexpr double same_x = 1e-9;

// Returns the weight of points[own] in the polynomial through the points `all`, at x.
double lagrange_weight(const CurvePlaces& points, const std::array<std::size_t, 4>& all, std::size_t own, double x) {
  double weight = 1;
  for (const std::size_t other : all) {
    if (other != own) weight *= (x - points[other].x) / (points[own].x - points[other].x);
  }
  return weight;
}

bool has_equal_x(const CurvePlaces& points, const std::array<std::size_t, 4>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (points[all[i]].x - points[all[i - 1]].x < same_x) return true;
  }
  return false;
}

// Returns the neighbours that a line is laid through, the point itself among them.
Stretch neighbours_of(const CurvePlaces& points, Stretch stretch, std::size_t point, double reach) {
  Stretch near{point, point};
  const auto is_near = [&](std::size_t other) { return std::abs(points[other].x - points[point].x) <= reach; };
  while (near.first > stretch.first && (near.first == point || is_near(near.first - 1))) --near.first;
  while (near.last < stretch.last && (near.last == point || is_near(near.last + 1))) ++near.last;
  if (near.last - near.first < 2 && near.first > stretch.first) --near.first;
  if (near.last - near.first < 2 && near.last < stretch.last) ++near.last;
  return near;
}

// Sums of the points of a stretch but one, x counted from that one.
struct LineSums {
  double count = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
};

LineSums sums_without(const CurvePlaces& points, Stretch stretch, std::size_t point) {
  LineSums sums;
  for (std::size_t i = stretch.first; i <= stretch.last; ++i) {
    if (i == point) continue;
    const double x = points[i].x - points[point].x;
    sums.count += 1;
    sums.x += x;
    sums.y += points[i].y;
    sums.xx += x * x;
    sums.xy += x * points[i].y;
  }
  return sums;
}

}  // namespace

void Contrast::add(std::size_t point, double weight) {
  const auto same = std::find_if(terms_.begin(), terms_.end(), [&](const Term& term) { return term.point == point; });
  if (same != terms_.end()) {
    same->weight += weight;
  } else {
    terms_.push_back({point, weight});
  }
}

double Contrast::value(const CurvePlaces& points) const {
  double sum = 0;
  for (const Term& term : terms_) sum += term.weight * points[term.point].y;
  return sum;
}

double Contrast::variance(const std::vector<double>& variances) const {
  double sum = 0;
  for (const Term& term : terms_) sum += term.weight * term.weight * variances[term.point];
  return sum;
}

double Contrast::norm() const {
  double sum = 0;
  for (const Term& term : terms_) sum += term.weight * term.weight;
  return sum;
}

std::optional<Contrast> off_cubic(const CurvePlaces& points, std::size_t point) {
  if (point < 2 || point + 2 >= points.size()) return std::nullopt;
  const std::array<std::size_t, 4> all = {point - 2, point - 1, point + 1, point + 2};
  if (has_equal_x(points, all)) return std::nullopt;
  Contrast contrast;
  contrast.add(point, 1);
  for (const std::size_t own : all) contrast.add(own, -lagrange_weight(points, all, own, points[point].x));
  return contrast;
}

std::optional<Contrast> jump_behind(const CurvePlaces& points, std::size_t point) {
  constexpr std::size_t steps = 3;
  const std::size_t next = point + 1;
  std::vector<Stretch> sides;
  const Stretch before{point - std::min(point, steps), point};
  const Stretch behind{next, std::min(points.size() - 1, next + steps)};
  for (const Stretch& side : {before, behind}) {
    if (points[side.last].x - points[side.first].x > same_x) sides.push_back(side);
  }
  if (sides.empty()) return std::nullopt;
  Contrast contrast;
  contrast.add(next, 1);
  contrast.add(point, -1);
  for (const Stretch& side : sides) {
    const double part = (points[next].x - points[point].x) / static_cast<double>(sides.size()) /
                        (points[side.last].x - points[side.first].x);
    contrast.add(side.last, -part);
    contrast.add(side.first, part);
  }
  return contrast;
}

std::optional<LineValue> line_of_others(const CurvePlaces& points, Stretch stretch, std::size_t point, double reach) {
  const Stretch near = neighbours_of(points, stretch, point, reach);
  const LineSums sums = sums_without(points, near, point);
  const double spread = sums.count * sums.xx - sums.x * sums.x;
  if (sums.count < 2 || spread <= same_x * same_x) return std::nullopt;
  return LineValue{(sums.xx * sums.y - sums.x * sums.xy) / spread, sums.xx / spread};
}

}  // namespace znni
