#include "server/train/curve.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

namespace znni {
namespace {

struct Place {
  double x = 0;
  double y = 0;
};
using Line = std::vector<Place>;

constexpr double left = 90;  // of a panel; numbers stand before it
constexpr double width = 680;
constexpr double height = 170;  // of a panel
constexpr double pitch = 230;   // from panel to panel
constexpr double top = 40;
constexpr int digits_of_steps = 12;

// "0.0123": as short as that many digits allow.
std::string number(double value, int digits = 4) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

std::string at(const char* name, double value) { return std::string(" ") + name + "=\"" + number(value) + "\""; }

std::string words(Place place, const std::string& anchor, const std::string& text) {
  return "<text" + at("x", place.x) + at("y", place.y) + " text-anchor=\"" + anchor + "\">" + text + "</text>\n";
}

// Returns the mean of each point and those before and behind it, of which there are a fiftieth of all.
Line smoothed(const Line& line) {
  const std::size_t reach = line.size() / 100;
  std::vector<double> sums = {0};
  for (const Place& each : line) sums.push_back(sums.back() + each.y);
  Line smooth;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t near = std::min({reach, i, line.size() - 1 - i});
    const double sum = sums[i + near + 1] - sums[i - near];
    smooth.push_back({line[i].x, sum / static_cast<double>(2 * near + 1)});
  }
  return smooth;
}

// A part of the picture: lines over the steps, with a frame, numbers and a title.
class Panel {
 public:
  Panel(std::string title, int number_from_top, double steps)
      : title_(std::move(title)), top_(top + pitch * number_from_top), steps_(steps) {}

  // The panel's range is that of all such lines.
  void fit(const Line& line) {
    for (const Place& each : line) {
      from_ = std::min(from_, each.y);
      to_ = std::max(to_, each.y);
    }
  }

  [[nodiscard]] std::string text(const std::string& lines) const {
    const std::string box = at("x", left) + at("y", top_) + at("width", width) + at("height", height);
    std::string out = words({left, top_ - 10}, "start", title_);
    out += "<rect" + box + " fill=\"none\" stroke=\"#999\"/>\n";
    for (const double share : {0.0, 0.5, 1.0}) {
      const double y = low() + share * (high() - low());
      out += words({left - 8, place({0, y}).y + 4}, "end", number(y));
    }
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      out += words({left + share * width, top_ + height + 18}, "middle", number(share * steps_, digits_of_steps));
    }
    return out + lines;
  }

  // Beyond the panel's range a line is cut off.
  [[nodiscard]] std::string line(const Line& points, const std::string& colour, double thickness) const {
    if (points.empty()) return "";
    std::string list;
    for (const Place& each : points) {
      const Place own = place({each.x, std::clamp(each.y, low(), high())});
      list += number(own.x) + "," + number(own.y) + " ";
    }
    return "<polyline points=\"" + list + "\" fill=\"none\" stroke=\"" + colour + "\"" + at("stroke-width", thickness) +
           "/>\n";
  }
  [[nodiscard]] std::string dots(const Line& points, const std::string& colour) const {
    std::string all;
    for (const Place& each : points) {
      const Place own = place(each);
      all += "<circle" + at("cx", own.x) + at("cy", own.y) + " r=\"3\" fill=\"" + colour + "\"/>\n";
    }
    return all;
  }

 private:
  [[nodiscard]] double low() const { return from_ > to_ ? 0 : from_; }
  [[nodiscard]] double high() const { return to_ > low() ? to_ : low() + 1; }
  [[nodiscard]] Place place(Place value) const {
    return {left + width * value.x / steps_, top_ + height * (high() - value.y) / (high() - low())};
  }

  std::string title_;
  double top_;
  double steps_;
  double from_ = std::numeric_limits<double>::max();
  double to_ = std::numeric_limits<double>::lowest();
};

}  // namespace

void TrainCurve::add_step(std::int64_t step, double loss, double learning_rate) {
  last_step_ = step;
  if (points_.empty() || points_.back().steps == steps_per_point_) {
    if (points_.size() == max_points) {
      for (std::size_t i = 0; i < max_points / 2; ++i) {
        const Point& a = points_[2 * i];
        const Point& b = points_[2 * i + 1];
        points_[i] = {(a.step + b.step) / 2, (a.loss + b.loss) / 2, (a.rate + b.rate) / 2, 2 * steps_per_point_};
      }
      points_.resize(max_points / 2);
      steps_per_point_ *= 2;
    }
    points_.emplace_back();
  }
  Point& last = points_.back();
  const auto before = static_cast<double>(last.steps++);
  const double all = before + 1;
  last.step = (last.step * before + static_cast<double>(step)) / all;
  last.loss = (last.loss * before + loss) / all;
  last.rate = (last.rate * before + learning_rate) / all;
}

void TrainCurve::add_validation(std::int64_t step, const ValidationScore& score) {
  last_step_ = step;
  if (validations_seen_++ % validations_per_point_ != 0) return;
  if (validations_.size() == max_points) {
    for (std::size_t i = 0; i < max_points / 2; ++i) validations_[i] = validations_[2 * i];
    validations_.resize(max_points / 2);
    validations_per_point_ *= 2;
  }
  Validation own = {static_cast<double>(step), score.loss, 0};
  if (score.precision_recall) {
    score_name_ = "average precision";
    own.score = score.precision_recall->average_precision;
  } else if (score.mean_dice) {
    score_name_ = "mean Dice";
    own.score = *score.mean_dice;
  }
  validations_.push_back(own);
}

std::string TrainCurve::svg() const {
  Line losses;
  Line rates;
  Line validation_losses;
  Line scores;
  const auto last = static_cast<double>(last_step_);
  for (const Point& each : points_) {
    losses.push_back({each.step, each.loss});
    rates.push_back({each.step, each.rate});
  }
  for (const Validation& each : validations_) {
    validation_losses.push_back({each.step, each.loss});
    scores.push_back({each.step, each.score});
  }
  int panels = 0;
  Panel loss(validation_losses.empty() ? "loss" : "loss, and validation loss (orange)", panels++, last);
  loss.fit(smoothed(losses));
  loss.fit(validation_losses);
  std::string body = loss.text(loss.line(losses, "#cde", 1) + loss.line(smoothed(losses), "#06a", 2) +
                               loss.line(validation_losses, "#e70", 1.5) + loss.dots(validation_losses, "#e70"));
  if (!score_name_.empty()) {
    Panel score("validation: " + score_name_, panels++, last);
    score.fit(scores);
    body += score.text(score.line(scores, "#e70", 1.5) + score.dots(scores, "#e70"));
  }
  Panel rate("learning rate", panels++, last);
  rate.fit(rates);
  body += rate.text(rate.line(rates, "#383", 2));
  const double all = top + pitch * panels;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + at("width", 800) + at("height", all) + " viewBox=\"0 0 800 " +
         number(all) + "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" " +
         "fill=\"white\"/>\n" + body + "</svg>\n";
}

}  // namespace znni
