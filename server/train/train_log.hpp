// What became of each step of a training: train.jsonl, one JSON object a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "primitives/core/file_handle.hpp"
#include "primitives/core/result.hpp"
#include "server/train/curve.hpp"
#include "server/train/validation/validation_scores.hpp"

namespace znni {

// {"step":7,"loss":0.31,"learning_rate":0.002,"gradient_norm":1.5,"seconds":0.8}; steps count from 1.
struct StepRecord {
  std::int64_t step = 0;
  double loss = 0;
  double learning_rate = 0;
  double gradient_norm = 0;  // before it was clipped
  double seconds = 0;
};

class TrainLog {
 public:
  // Opens the file for a training that has done so many steps. Lines of later steps, which will be done again, are
  // taken away, and so is a line that was cut.
  [[nodiscard]] static Result<TrainLog> open(const std::string& path, std::int64_t steps);

  // Returns whether the last line is a validation after this step.
  [[nodiscard]] bool is_validated(std::int64_t step) const { return validated_ == step; }

  // Each writes one line, whole, before it returns.
  [[nodiscard]] Result<void> add(const StepRecord& record);
  // {"step":500,"validation_loss":0.4,"average_precision":0.7,"best_f1":0.6,"best_f1_threshold":0.5}; of classes with
  // "accuracy", "mean_dice" and "dice", a list with null for a class that does not occur.
  [[nodiscard]] Result<void> add_validation(std::int64_t step, const ValidationScore& score);
  // Returns the curve of all lines.
  [[nodiscard]] const TrainCurve& curve() const { return curve_; }
  // Makes all lines survive a power cut.
  [[nodiscard]] Result<void> sync();

 private:
  TrainLog(std::string path, FileHandle file, std::int64_t validated, TrainCurve curve)
      : path_(std::move(path)), file_(std::move(file)), validated_(validated), curve_(std::move(curve)) {}
  Result<void> write(const std::string& line);

  std::string path_;
  FileHandle file_;
  std::int64_t validated_;  // step of the validation in the last line; -1 if that is none
  TrainCurve curve_;
};

}  // namespace znni
