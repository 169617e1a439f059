#include "server/metrics/prometheus_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace znni {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

// Returns the value of a label without line feeds, which would end the line, and without control characters.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

}  // namespace

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += value;
}

void PrometheusText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void PrometheusText::sample(const Labels& labels, double value) { line("", labels, number(value)); }

void PrometheusText::sample(const Labels& labels, std::int64_t value) { line("", labels, std::to_string(value)); }

void PrometheusText::sample(const Labels& labels, const Histogram& histogram) {
  std::int64_t below = 0;
  Labels bounded = labels;
  bounded.emplace_back("le", "");
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    below += histogram.counts()[i];
    bounded.back().second = i < histogram.bounds().size() ? number(histogram.bounds()[i]) : "+Inf";
    line("_bucket", bounded, std::to_string(below));
  }
  line("_sum", labels, number(histogram.sum()));
  line("_count", labels, std::to_string(below));
}

void PrometheusText::line(std::string_view ending, const Labels& labels, std::string_view value) {
  text_.append(name_).append(ending);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text_.append(i == 0 ? "{" : ",")
        .append(labels[i].first)
        .append("=\"")
        .append(escaped(labels[i].second))
        .append("\"");
  }
  text_.append(labels.empty() ? " " : "} ").append(value).append("\n");
}

}  // namespace znni
