// Interpolates between recorded sizes of one way to compute one kind of problem.
#pragma once

#include <vector>

#include "planner/costs/timings.hpp"

namespace znni {

// A record, by its size.
struct SizedRow {
  double work = 0;   // direct_flops() of the problem
  double bytes = 0;  // of the tensors it reads and writes
  Seconds seconds = 0;
  std::vector<RecordedBytes> memory;  // beside those tensors
  bool smoothed = false;  // the seconds are likely ones (planner/costs/likely_rows.hpp), not the recorded ones
};

struct CurvePoint {
  Seconds seconds = 0;
  bool inside = false;  // between two rows, or on one
  std::vector<RecordedBytes> memory;
  bool smoothed = false;  // by a row whose seconds are likely ones
};

// Time: a straight line between the neighbours in the logarithms of work and time. It goes on beyond the smallest and
// the largest two rows, never falling, nor steeper than 2; one row alone: in proportion to the work. Transient bytes:
// the larger of the neighbours' shares of the tensors' bytes. Persistent bytes: the larger of the neighbours'; beyond
// the largest row in proportion to the tensors' bytes, but where all rows keep the same. On a row: that row.
class RowCurve {
 public:
  // Requires at least one row, and works, bytes and seconds above zero.
  explicit RowCurve(std::vector<SizedRow> rows);

  [[nodiscard]] CurvePoint at(double work, double bytes) const;

  // Returns |predicted / recorded - 1| of each row by the others: rows between two others, and the first and the last.
  [[nodiscard]] std::vector<double> errors_inside() const;
  [[nodiscard]] std::vector<double> errors_outside() const;

 private:
  [[nodiscard]] double error_without(std::size_t row) const;

  std::vector<SizedRow> rows_;  // by rising work, no two of the same
};

}  // namespace znni
