// Metrics as Prometheus reads them (text format 0.0.4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace znni {

// Label names and values; values may be any text.
using Labels = std::vector<std::pair<std::string, std::string>>;

// Observations counted by upper bounds, as a Prometheus histogram has them.
class Histogram {
 public:
  // Makes a histogram of these `bounds`, which rise; one more bucket takes what is above the last.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void observe(double value);

  [[nodiscard]] std::span<const double> bounds() const { return bounds_; }
  // Returns the counts of the buckets one by one, not added up.
  [[nodiscard]] std::span<const std::int64_t> counts() const { return counts_; }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<std::int64_t> counts_;
  double sum_ = 0;
};

// Writes families one after the other: begin one, then its samples.
class PrometheusText {
 public:
  // Writes the head of a family. `type`: "counter", "gauge" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value);
  void sample(const Labels& labels, std::int64_t value);
  void sample(const Labels& labels, const Histogram& histogram);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(std::string_view ending, const Labels& labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace znni
