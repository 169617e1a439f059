// How far the formulas of primitives are from recorded times, and how far what is corrected so still is: every row
// is also predicted from the others, and the error bar of a correction is what those predictions kept within.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni {

// A way to compute a problem and its times.
struct Observation {
  std::string primitive;  // with its version, "cpu.conv.direct:2"
  std::string way;        // variant and formats
  std::string family;     // problem_family() of the problem
  std::string kernel;     // problem_class() of the problem
  Seconds modelled = 0;   // above zero
  Seconds seconds = 0;    // recorded, above zero; of a question, ignored
  double window = 1;      // voxels of the kernel or of the pooling's window
  bool busy = false;      // recorded while threads had to wait for a processor; of a question, ignored
};

struct Correction {
  double factor = 1;  // on the formula's time
  double error = 0;   // 9 of 10 rows were predicted within this share of their time; 0: nobody knows
};

class Calibration {
 public:
  Calibration() = default;
  explicit Calibration(const std::vector<Observation>& rows);

  // From the nearest rows there are, whichever comes first: the same family computed the same way; the same family by
  // this primitive; the same operation and window by this primitive; this primitive; the same family by any other, so
  // that a way nobody tried does not win only because the others were seen on a busy machine. The geometric mean of
  // recorded over modelled time: rows of about the same time and window count most, those of a busy machine little.
  // From rows of other families the factor is the nearer to 1 the farther they are.
  [[nodiscard]] Correction correct(const Observation& question) const;

  // Of one primitive: what rows were predicted to take from the nearest other rows, over what they took.
  struct Residuals {
    std::string primitive;
    std::size_t rows = 0;      // that could be predicted from others
    double factor = 1;         // median of recorded over modelled
    double median = 0;         // of |predicted / recorded - 1|
    double ninth = 0;          // 90th percentile of the same
    double before_median = 0;  // the same of the formulas alone
    double before_ninth = 0;
  };
  // By name of primitive.
  [[nodiscard]] std::vector<Residuals> residuals() const;

 private:
  static constexpr std::size_t levels = 5;
  struct Row {
    double log_modelled = 0;
    double log_window = 0;
    double log_ratio = 0;
    double weight = 1;
  };
  static Row row_of(const Observation& of);
  using Rows = std::vector<std::size_t>;
  // Nine tenths of the errors of predictions, per primitive; of "": of all primitives'.
  using Errors = std::map<std::string, double, std::less<>>;

  [[nodiscard]] static std::string key(std::size_t level, const Observation& of);
  [[nodiscard]] const Rows* rows_of(std::size_t level, const Observation& of) const;
  // Mean of log_ratio among `rows` of a level without those of `without` (sorted) and `self`; false when none is left.
  bool mean(std::size_t level, const Rows& rows, const Rows* without, std::size_t self, const Row& question,
            double& result) const;
  [[nodiscard]] double error_of(std::size_t level, const std::string& primitive) const;
  void find_errors(const std::vector<Observation>& rows);
  void summarise(const std::string& primitive, const Rows& own, const std::vector<double>& nearest);

  std::vector<Row> rows_;
  std::map<std::string, Rows, std::less<>> groups_;  // by key
  std::array<Errors, levels> errors_;
  std::vector<Residuals> residuals_;
};

// The share below which nine tenths of `values` lie (the nearest rank); 0 without any.
[[nodiscard]] double ninth_decile(std::vector<double> values);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace znni
