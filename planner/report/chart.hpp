// Charts of the report's page as values: what they show. planner/report/report_page.js draws them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace znni {

// Says how a chart writes numbers: as "20k", "1.5 GiB", "3 ms".
enum class ChartUnit { number, bytes, seconds };

struct ChartAxis {
  std::string title;
  ChartUnit unit = ChartUnit::number;
  bool logarithmic = false;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string text;  // shown when pointed at
};

// line: joined by a line; area: the same, filled down to zero; ring: around a point of another series.
enum class ChartMark { dots, line, area, ring };

struct ChartSeries {
  std::string name;
  ChartMark mark = ChartMark::line;
  std::vector<ChartPoint> points;  // of lines and areas by rising x
};

struct PointChart {
  std::string id;  // of the element that it is drawn in
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
};

// Lies between two values of the axis.
struct ChartBar {
  double from = 0;
  double to = 0;
  std::string text;  // shown when pointed at
};

struct BarSeries {
  std::string name;
  std::vector<std::optional<ChartBar>> bars;  // one for each label; nothing: there is none
};

// Has bars from left to right, a row for each label.
struct BarChart {
  std::string id;
  std::string title;
  ChartAxis axis;
  std::vector<std::string> labels;
  std::vector<BarSeries> series;
  bool shares_rows = false;  // bars of a label stand behind each other; else each series has a bar of its own height
};

using Chart = std::variant<PointChart, BarChart>;

}  // namespace znni
