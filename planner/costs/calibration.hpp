// Measures how far the formulas of primitives are from recorded times, and how far corrected times still are. Every row
// (or some rows of every size, if they are many) is also predicted from the others; the error bar of a correction is
// what those predictions kept within.
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
  double error = 0;   // 9 of 10 rows were predicted within this share of their time; 0: unknown
};

class Calibration {
 public:
  Calibration() = default;
  explicit Calibration(std::vector<Observation> rows);

  // Returns the correction of a modelled time, shrunk from coarse to fine, in logarithms of recorded over modelled
  // time. Starts at ratio 1 and blends in (0) all rows of the primitive, wherever they are; then these, where rows
  // weigh by nearness in time and window: (1) the same rows, (2) those with the same operation and window, (3) the same
  // family, (4) the same family and way. In each the coarser estimate counts as one near row; rows of a busy machine
  // count little. Without rows of the primitive it is the family's mean over other primitives, by nearness alone. So an
  // untried way does not win only because the others were recorded on a busy machine. Without any: the formula, and no
  // error.
  [[nodiscard]] Correction correct(const Observation& question) const;

  // Errors of one primitive: times predicted from the nearest other rows over recorded ones.
  struct Residuals {
    std::string primitive;
    std::size_t rows = 0;      // that were predicted from others
    double factor = 1;         // median of recorded over modelled
    double median = 0;         // of |predicted / recorded - 1|
    double ninth = 0;          // 90th percentile of the same
    double before_median = 0;  // the same of the formulas alone
    double before_ninth = 0;
  };
  // Returns the residuals, sorted by the name of the primitive.
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
  // Rows that are not to be looked at.
  struct Without {
    const Rows* rows = nullptr;  // rising
    std::size_t self = static_cast<std::size_t>(-1);
    [[nodiscard]] bool has(std::size_t row) const;
    [[nodiscard]] bool nothing() const { return rows == nullptr && self == static_cast<std::size_t>(-1); }
  };
  // Writes to `result` the mean of log_ratio and of `result` itself, which has the weight `of_before`. Rows near the
  // question count most. Returns false if no row is left.
  bool mean(const Rows& rows, const Without& without, const Row& question, double of_before, double& result) const;
  // Returns the mean of rows of any size, beside the formula.
  [[nodiscard]] double mean_of_all(const Rows& rows, const Without& without) const;
  // Predicts from all rows of the primitive down to those of the level `nearest`; false if no row is left at that one.
  bool predict(std::size_t nearest, const Observation& of, const Without& without, double& result) const;
  [[nodiscard]] double error_of(std::size_t level, const std::string& primitive) const;
  // Per primitive, and of "", of all: errors of predictions.
  using LevelErrors = std::array<std::map<std::string, std::vector<double>>, levels>;

  [[nodiscard]] Rows spread(Rows rows) const;
  void find_errors(const std::vector<Observation>& rows);
  // Predicts a row from others, at every level as correct() would if the nearer rows were missing. The error at the
  // nearest, or -1 where nothing tells of it.
  double add_errors(std::size_t row, const Observation& of, LevelErrors& errors) const;
  void summarise(const std::string& primitive, const Rows& own, const std::vector<double>& nearest);

  std::vector<Row> rows_;
  std::map<std::string, Rows, std::less<>> groups_;   // by key
  std::map<std::string, double, std::less<>> means_;  // mean_of_all() by primitive
  std::array<Errors, levels> errors_;
  std::vector<Residuals> residuals_;
};

// Returns the value below which nine tenths of `values` lie (the nearest rank); 0 if there are none.
[[nodiscard]] double ninth_decile(std::vector<double> values);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace znni
