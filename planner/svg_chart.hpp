// Pictures for a report: SVG that stands in an HTML page and needs nothing from elsewhere. Colours are the page's:
// classes s0, s1, ... for series and spans, "axis", "grid", "chosen"; "odd" are labels that a narrow page may hide.
// Figures are of class "plot" where their text may be larger, "scroll" where they need their width.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace znni {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string text;  // shown when pointed at
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by rising x
};

struct Chart {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<ChartSeries> series;
  bool bytes = false;                     // x is bytes, on a logarithmic scale
  std::optional<ChartPoint> chosen = {};  // marked by a ring, as the chosen plan
};

// Lines with a mark at each point. Axes begin at zero but for logarithmic ones.
[[nodiscard]] std::string line_chart(const Chart& chart);

struct Bar {
  std::string label;
  double value = 0;
  std::string text;  // behind the bar
};
// One bar under the other, the longest as wide as there is room.
[[nodiscard]] std::string bar_chart(const std::string& title, const std::vector<Bar>& bars);

// Something that takes time and holds memory meanwhile.
struct Span {
  std::string label;
  double seconds = 0;
  double bytes = 0;
  int colour = 0;
};
// One behind the other from left to right; as high as the bytes.
[[nodiscard]] std::string timeline(const std::string& title, const std::vector<Span>& spans);

// What several work on side by side, each in a lane of its own.
struct LaneSpan {
  std::string label;
  double begin = 0;  // seconds
  double seconds = 0;
  int colour = 0;
};
struct Lane {
  std::string name;
  std::vector<LaneSpan> spans;  // by rising begin
};
[[nodiscard]] std::string lane_chart(const std::string& title, const std::vector<Lane>& lanes);

// Text that is safe between tags and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace znni
