// The curve of a training as a picture: loss, score and learning rate over the steps, as SVG that browsers show. Its
// memory does not depend on the number of steps, and it follows from the log's lines alone: a training that went on has
// the picture of one that was not interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/train/validation/validation_scores.hpp"

namespace znni {

class TrainCurve {
 public:
  // Steps and validations are added in their order.
  void add_step(std::int64_t step, double loss, double learning_rate);
  void add_validation(std::int64_t step, const ValidationScore& score);

  // Returns the picture, a whole SVG file.
  [[nodiscard]] std::string svg() const;

  // Of each kind no more points are kept: pairs of steps become their mean, and every other validation is left out.
  static constexpr std::size_t max_points = 1024;

 private:
  // The mean of consecutive steps.
  struct Point {
    double step = 0;
    double loss = 0;
    double rate = 0;
    std::int64_t steps = 0;
  };
  struct Validation {
    double step = 0;
    double loss = 0;
    double score = 0;
  };

  std::vector<Point> points_;  // the last may be of fewer steps than the others
  std::int64_t steps_per_point_ = 1;
  std::vector<Validation> validations_;
  std::int64_t validations_per_point_ = 1;
  std::int64_t validations_seen_ = 0;
  std::int64_t last_step_ = 1;
  std::string score_name_;  // "average precision", "mean Dice"; "" without one
};

}  // namespace znni
