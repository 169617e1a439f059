#include "server/train/train_log.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "primitives/core/write_atomically.hpp"
#include "proto/convert/base/read_file.hpp"

namespace znni {
namespace {

using Json = nlohmann::ordered_json;

// Returns whether the line is whole and of one of the first steps.
bool is_kept(std::string_view line, std::int64_t steps) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) return false;
  return object["step"].get<std::int64_t>() <= steps;
}

std::string kept_lines(std::string_view text, std::int64_t steps) {
  std::string kept;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    if (!is_kept(line, steps)) break;
    kept.append(line).append("\n");
    text.remove_prefix(end + 1);
  }
  return kept;
}

// Returns a number of a line; 0 if it has none of that name.
double number_in(const Json& line, const char* name) {
  return line.contains(name) && line[name].is_number() ? line[name].get<double>() : 0;
}

ValidationScore score_in(const Json& line) {
  ValidationScore score = {.loss = number_in(line, "validation_loss")};
  if (line.contains("average_precision")) {
    score.precision_recall = PrecisionRecall{number_in(line, "average_precision"), number_in(line, "best_f1"),
                                             number_in(line, "best_f1_threshold")};
  }
  if (line.contains("mean_dice")) score.mean_dice = number_in(line, "mean_dice");
  return score;
}

// Returns the curve of lines that are kept.
TrainCurve curve_of(std::string_view kept) {
  TrainCurve curve;
  for (std::size_t end = kept.find('\n'); end != std::string_view::npos; end = kept.find('\n')) {
    const Json line = Json::parse(kept.substr(0, end));
    const auto step = line["step"].get<std::int64_t>();
    if (line.contains("validation_loss")) {
      curve.add_validation(step, score_in(line));
    } else {
      curve.add_step(step, number_in(line, "loss"), number_in(line, "learning_rate"));
    }
    kept.remove_prefix(end + 1);
  }
  return curve;
}

// Returns the step of the validation that the last line is; -1 if it is none.
std::int64_t last_validation(std::string_view kept) {
  if (kept.empty()) return -1;
  kept.remove_suffix(1);
  const Json object = Json::parse(kept.substr(kept.rfind('\n') + 1));
  return object.contains("validation_loss") ? object["step"].get<std::int64_t>() : -1;
}

}  // namespace

Result<TrainLog> TrainLog::open(const std::string& path, std::int64_t steps) {
  const Result<std::string> before = read_file(path, std::numeric_limits<std::int64_t>::max());
  if (!before && before.error().code != ErrorCode::not_found) return before.error();
  const std::string kept = before ? kept_lines(*before, steps) : "";
  if (Result<void> written = write_atomically(path, kept); !written) return written.error();
  FileHandle file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.is_open()) {
    return Error{ErrorCode::invalid_argument, path + ": cannot be opened: " + std::strerror(errno)};
  }
  return TrainLog(path, std::move(file), last_validation(kept), curve_of(kept));
}

Result<void> TrainLog::add(const StepRecord& record) {
  validated_ = -1;
  curve_.add_step(record.step, record.loss, record.learning_rate);
  return write(Json{{"step", record.step},
                    {"loss", record.loss},
                    {"learning_rate", record.learning_rate},
                    {"gradient_norm", record.gradient_norm},
                    {"seconds", record.seconds}}
                   .dump());
}

Result<void> TrainLog::add_validation(std::int64_t step, const ValidationScore& score) {
  validated_ = step;
  curve_.add_validation(step, score);
  Json line = {{"step", step}, {"validation_loss", score.loss}};
  if (score.precision_recall) {
    line["average_precision"] = score.precision_recall->average_precision;
    line["best_f1"] = score.precision_recall->best_f1;
    line["best_f1_threshold"] = score.precision_recall->best_threshold;
  }
  if (score.accuracy && score.mean_dice) {
    line["accuracy"] = *score.accuracy;
    line["mean_dice"] = *score.mean_dice;
    for (const std::optional<double>& each : score.dice) line["dice"].push_back(each ? Json(*each) : Json());
  }
  return write(line.dump());
}

Result<void> TrainLog::write(const std::string& line) {
  const Result<void> written = write_all(file_.get(), line + "\n");
  return written ? written : written.error().within(path_);
}

Result<void> TrainLog::sync() { return sync_file(path_); }

}  // namespace znni
