#include "planner/svg_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "planner/text_table.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

constexpr double width = 720;
constexpr double height = 300;
constexpr double left = 88;
constexpr double right = 16;
constexpr double top = 12;
constexpr double bottom = 46;
constexpr double gap = 4;
constexpr int colours = 6;

std::string num(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// "1.5", "20", "3e+06" become 1.5, 20, 3M.
std::string short_number(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> units = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  for (const auto& [unit, name] : units) {
    if (std::abs(value) < unit && unit > 1) continue;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g%s", value / unit, name);
    return text.data();
  }
  return "";
}

std::string short_bytes(double value) { return bytes_text(static_cast<std::int64_t>(value)); }

std::string begin_svg(const std::string& title, double high) {
  return "<svg viewBox=\"0 0 " + num(width) + " " + num(high) + "\" role=\"img\" aria-label=\"" + escaped(title) +
         "\">\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + num(x1) + "\" y1=\"" + num(y1) + "\" x2=\"" + num(x2) +
         "\" y2=\"" + num(y2) + "\"/>\n";
}

// Writes text of the class `kind`; of none where that is empty.
std::string text_at(double x, double y, const char* anchor, const std::string& text, const std::string& kind = "") {
  return "<text" + (kind.empty() ? "" : " class=\"" + kind + "\"") + " x=\"" + num(x) + "\" y=\"" + num(y) +
         "\" text-anchor=\"" + anchor + "\">" + escaped(text) + "</text>\n";
}

std::string pointed_at(const std::string& text) { return text.empty() ? "" : "<title>" + escaped(text) + "</title>"; }

// A round step that cuts [0, most] into about four.
double round_step(double most) {
  const double power = std::pow(10.0, std::floor(std::log10(most / 4)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (most / (step * power) <= 5) return step * power;
  }
  return 10 * power;
}

// Where values lie in the picture.
class Scale {
 public:
  explicit Scale(const Chart& chart) : logarithmic_(chart.bytes) {
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& point : series.points) take(point);
    }
    if (chart.chosen) take(*chart.chosen);
    if (!logarithmic_) least_x_ = 0;
    if (most_x_ <= least_x_) most_x_ = least_x_ + 1;
    if (most_y_ <= 0) most_y_ = 1;
  }
  [[nodiscard]] double x(double value) const {
    const double part = logarithmic_ ? std::log(value / least_x_) / std::log(most_x_ / least_x_)
                                     : (value - least_x_) / (most_x_ - least_x_);
    return left + part * (width - left - right);
  }
  [[nodiscard]] double y(double value) const { return height - bottom - value / most_y_ * (height - top - bottom); }
  [[nodiscard]] std::vector<double> x_ticks() const {
    std::vector<double> ticks;
    if (!logarithmic_) {
      for (double tick = 0; tick <= most_x_; tick += round_step(most_x_)) ticks.push_back(tick);
      return ticks;
    }
    const double doublings = std::log2(most_x_ / least_x_);
    const double step = std::exp2(std::max(1.0, std::ceil(doublings / 7)));
    for (double tick = std::exp2(std::ceil(std::log2(least_x_))); tick <= most_x_; tick *= step) ticks.push_back(tick);
    return ticks;
  }
  [[nodiscard]] std::vector<double> y_ticks() const {
    std::vector<double> ticks;
    for (double tick = 0; tick <= most_y_ * 1.0001; tick += round_step(most_y_)) ticks.push_back(tick);
    return ticks;
  }

 private:
  void take(const ChartPoint& point) {
    least_x_ = std::min(least_x_, point.x);
    most_x_ = std::max(most_x_, point.x);
    most_y_ = std::max(most_y_, point.y);
  }

  bool logarithmic_;
  double least_x_ = 1e300;
  double most_x_ = 0;
  double most_y_ = 0;
};

std::string axes(const Chart& chart, const Scale& scale) {
  std::string svg;
  for (const double tick : scale.y_ticks()) {
    svg += line(left, scale.y(tick), width - right, scale.y(tick), "grid");
    svg += text_at(left - gap, scale.y(tick) + gap, "end", short_number(tick));
  }
  bool odd = false;
  for (const double tick : scale.x_ticks()) {
    svg += line(scale.x(tick), height - bottom, scale.x(tick), height - bottom + gap, "axis");
    svg += text_at(scale.x(tick), height - bottom + 4 * gap, "middle",
                   chart.bytes ? short_bytes(tick) : short_number(tick), odd ? "odd" : "");
    odd = !odd;
  }
  svg += line(left, height - bottom, width - right, height - bottom, "axis");
  svg += text_at((left + width) / 2, height - 2 * gap, "middle", chart.x_title);
  return svg + "<text transform=\"translate(14 " + num(height / 2) + ") rotate(-90)\" text-anchor=\"middle\">" +
         escaped(chart.y_title) + "</text>\n";
}

std::string series_svg(const ChartSeries& series, const Scale& scale, int colour) {
  std::string points;
  std::string marks;
  for (const ChartPoint& point : series.points) {
    const std::string x = num(scale.x(point.x));
    const std::string y = num(scale.y(point.y));
    points += (points.empty() ? "" : " ") + x + "," + y;
    marks += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"4\">" + pointed_at(point.text) + "</circle>\n";
  }
  return "<g class=\"s" + std::to_string(colour % colours) + "\"><polyline points=\"" + points + "\"/>\n" + marks +
         "</g>\n";
}

std::string chosen_svg(const ChartPoint& chosen, const Scale& scale) {
  return "<circle class=\"chosen\" cx=\"" + num(scale.x(chosen.x)) + "\" cy=\"" + num(scale.y(chosen.y)) +
         "\" r=\"9\">" + pointed_at(chosen.text) + "</circle>\n";
}

std::string begin_figure(const std::string& title, const char* kind) {
  return "<figure class=\"" + std::string(kind) + "\"><figcaption>" + escaped(title) + "</figcaption>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string line_chart(const Chart& chart) {
  const bool empty = std::all_of(chart.series.begin(), chart.series.end(),
                                 [](const ChartSeries& series) { return series.points.empty(); });
  std::string html = begin_figure(chart.title, "plot");
  if (empty) return html + "<p>nothing fits</p></figure>\n";
  const Scale scale(chart);
  html += begin_svg(chart.title, height) + axes(chart, scale);
  int colour = 0;
  std::string legend = "<p class=\"legend\">";
  for (const ChartSeries& series : chart.series) {
    html += series_svg(series, scale, colour);
    legend += "<span class=\"s" + std::to_string(colour % colours) + "\">" + escaped(series.name) + "</span> ";
    ++colour;
  }
  if (chart.chosen) {
    html += chosen_svg(*chart.chosen, scale);
    legend += "<span class=\"mark\">&#9711; chosen plan</span>";
  }
  return html + "</svg>\n" + legend + "</p></figure>\n";
}

std::string bar_chart(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double row = 20;
  constexpr double names = 150;
  constexpr double texts = 190;
  double most = 0;
  for (const Bar& bar : bars) most = std::max(most, bar.value);
  std::string html = begin_figure(title, "scroll") + begin_svg(title, row * static_cast<double>(bars.size()) + 2 * gap);
  double y = gap;
  for (const Bar& bar : bars) {
    const double wide = most > 0 ? bar.value / most * (width - names - texts) : 0;
    html += text_at(names - gap, y + 14, "end", bar.label);
    html += "<rect class=\"s0\" x=\"" + num(names) + "\" y=\"" + num(y + 2) + "\" width=\"" + num(wide) +
            "\" height=\"" + num(row - gap) + "\">" + pointed_at(bar.label + ": " + bar.text) + "</rect>\n";
    html += text_at(names + wide + gap, y + 14, "start", bar.text);
    y += row;
  }
  return html + "</svg></figure>\n";
}

std::string timeline(const std::string& title, const std::vector<Span>& spans) {
  constexpr double high = 220;
  double seconds = 0;
  double most = 0;
  for (const Span& span : spans) {
    seconds += span.seconds;
    most = std::max(most, span.bytes);
  }
  std::string html = begin_figure(title, "scroll") + begin_svg(title, high);
  const double base = high - bottom;
  double x = left;
  for (const Span& span : spans) {
    const double wide = seconds > 0 ? span.seconds / seconds * (width - left - right) : 0;
    const double tall = most > 0 ? span.bytes / most * (base - top) : 0;
    html += "<rect class=\"s" + std::to_string(span.colour % colours) + "\" x=\"" + num(x) + "\" y=\"" +
            num(base - tall) + "\" width=\"" + num(std::max(0.5, wide)) + "\" height=\"" + num(tall) + "\">" +
            pointed_at(span.label + ": " + seconds_text(span.seconds) + ", " + short_bytes(span.bytes)) + "</rect>\n";
    if (wide > 8 * static_cast<double>(span.label.size()))
      html += text_at(x + wide / 2, base + 14, "middle", span.label);
    x += wide;
  }
  html += line(left, base, width - right, base, "axis");
  html += text_at(left - gap, top + gap, "end", short_bytes(most));
  html += text_at(width - right, base + 34, "end", seconds_text(seconds));
  return html + text_at(left, base + 34, "start", "0 s") + "</svg></figure>\n";
}

std::string lane_chart(const std::string& title, const std::vector<Lane>& lanes) {
  constexpr double row = 34;
  double seconds = 0;
  for (const Lane& lane : lanes) {
    for (const LaneSpan& span : lane.spans) seconds = std::max(seconds, span.begin + span.seconds);
  }
  const double base = top + row * static_cast<double>(lanes.size());
  std::string html = begin_figure(title, "scroll") + begin_svg(title, base + bottom);
  const auto wide = [&](double part) { return seconds > 0 ? part / seconds * (width - left - right) : 0; };
  double y = top;
  for (const Lane& lane : lanes) {
    html += text_at(left - gap, y + 19, "end", lane.name);
    for (const LaneSpan& span : lane.spans) {
      const double x = left + wide(span.begin);
      html += "<rect class=\"s" + std::to_string(span.colour % colours) + "\" x=\"" + num(x) + "\" y=\"" + num(y) +
              "\" width=\"" + num(std::max(0.5, wide(span.seconds))) + "\" height=\"" + num(row - gap - gap) + "\">" +
              pointed_at(span.label + ": " + seconds_text(span.seconds)) + "</rect>\n";
    }
    y += row;
  }
  html += line(left, base, width - right, base, "axis") + text_at(left, base + 18, "start", "0 s");
  return html + text_at(width - right, base + 18, "end", seconds_text(seconds)) + "</svg></figure>\n";
}

}  // namespace znni
