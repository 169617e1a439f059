// Recorded times of one way to compute one kind of layer, by shape: rows speak for shapes like theirs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planner/costs/row_curve.hpp"
#include "primitives/core/shape.hpp"

namespace znni {

struct ShapedRow {
  Shape5 input;  // of the problem
  SizedRow row;
};

// Extents relative to x, in whole halvings: cubes are {0, 0}, and so is 40x48x48; a slab of 3x48x48 is {-4, 0}.
// Channels of one plane or one row are alike whatever x is.
struct Proportions {
  int z_to_x = 0;
  int y_to_x = 0;
  auto operator<=>(const Proportions&) const = default;
};

[[nodiscard]] Proportions proportions(Vec3 n);

class ShapeCurves {
 public:
  // Requires at least one row, with works, bytes and seconds above zero.
  explicit ShapeCurves(const std::vector<ShapedRow>& rows);

  // Returns what the rows of the nearest proportions say of an input. Rows of its S are on one curve (RowCurve). If
  // there is none, the curves of the next smaller and the next larger S are taken at its extents. The seconds of one of
  // the S inputs then lie on a straight line between them in logarithms. Beyond the recorded S, time and transient
  // bytes grow with S. `inside` is true only if proportions, S and work all lie within what is recorded.
  [[nodiscard]] CurvePoint at(const Shape5& input, double work, double bytes) const;

  // Returns by how much predictions from the other rows are off, as RowCurve does. Counts rows between two others of
  // their S and proportions. It also counts all rows at an end of these, and those that have only curves of other S and
  // proportions.
  [[nodiscard]] std::vector<double> errors_inside() const;
  [[nodiscard]] std::vector<double> errors_outside() const;

 private:
  using CurvesByS = std::map<std::int64_t, RowCurve>;

  [[nodiscard]] const CurvesByS& nearest(Proportions wanted) const;
  [[nodiscard]] std::vector<double> errors_between_curves() const;

  std::vector<ShapedRow> rows_;
  std::map<Proportions, CurvesByS> curves_;
};

}  // namespace znni
