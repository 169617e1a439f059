// Noisy points of a curve, and what the neighbours of one say of it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace znni {

struct CurvePlace {
  double x = 0;
  double y = 0;
};
using CurvePlaces = std::vector<CurvePlace>;  // by rising x

// A weighted sum of the y of some points, which is 0 where a rule about them holds.
class Contrast {
 public:
  void add(std::size_t point, double weight);
  [[nodiscard]] double value(const CurvePlaces& points) const;
  // Returns the variance of the value, of independent points with these variances.
  [[nodiscard]] double variance(const std::vector<double>& variances) const;
  // Returns the same for variances of 1.
  [[nodiscard]] double norm() const;

 private:
  struct Term {
    std::size_t point = 0;
    double weight = 0;
  };
  std::vector<Term> terms_;  // no two of one point
};

// Returns by how much a point lies above the cubic through two neighbours on either side. A smooth law leaves little of
// it but noise. Returns nothing if there are no such neighbours, or if some have the same x.
[[nodiscard]] std::optional<Contrast> off_cubic(const CurvePlaces& points, std::size_t point);

// Returns by how much the step from a point to the next one is higher than the slopes before and behind it say. Each
// slope goes over three steps, or fewer if there are no more. Returns nothing if there is neither.
[[nodiscard]] std::optional<Contrast> jump_behind(const CurvePlaces& points, std::size_t point);

// Consecutive points, from the first to the last.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct LineValue {
  double y = 0;
  double variance = 0;  // of y, over that of one point
};

// Returns what the least-squares line through the others of a stretch says of a point. The others are those at most
// `reach` away in x. There is at least one on either side, and two in all, as far as the stretch has them. Returns
// nothing where there are fewer than two, or all have the same x.
[[nodiscard]] std::optional<LineValue> line_of_others(const CurvePlaces& points, Stretch stretch, std::size_t point,
                                                      double reach);

}  // namespace znni
