#include "planner/report/chart_json.hpp"

#include <array>

#include "planner/report/json.hpp"

namespace znni {
namespace {

const char* unit_name(ChartUnit unit) {
  constexpr std::array names = {"number", "bytes", "seconds"};
  return names[static_cast<std::size_t>(unit)];
}

const char* mark_name(ChartMark mark) {
  constexpr std::array names = {"dots", "line", "area", "ring"};
  return names[static_cast<std::size_t>(mark)];
}

Json axis_json(const ChartAxis& own) {
  return {{"title", own.title}, {"unit", unit_name(own.unit)}, {"logarithmic", own.logarithmic}};
}

Json point_json(const ChartPoint& own) { return {{"x", own.x}, {"y", own.y}, {"text", own.text}}; }

Json series_json(const ChartSeries& own) {
  return {{"name", own.name}, {"mark", mark_name(own.mark)}, {"points", json_list(own.points, point_json)}};
}

Json bar_json(const std::optional<ChartBar>& own) {
  if (!own) return nullptr;
  return {{"from", own->from}, {"to", own->to}, {"text", own->text}};
}

Json bars_json(const BarSeries& own) { return {{"name", own.name}, {"bars", json_list(own.bars, bar_json)}}; }

Json chart_json(const PointChart& own) {
  Json points = {{"x", axis_json(own.x)}, {"y", axis_json(own.y)}, {"series", json_list(own.series, series_json)}};
  return {{"id", own.id}, {"title", own.title}, {"points", std::move(points)}};
}

Json chart_json(const BarChart& own) {
  Json all = {{"axis", axis_json(own.axis)}, {"labels", own.labels}, {"series", json_list(own.series, bars_json)}};
  all["shares_rows"] = own.shares_rows;
  return {{"id", own.id}, {"title", own.title}, {"bars", std::move(all)}};
}

// Takes '<' out of strings, the only place where JSON has it.
std::string safe_in_script(const std::string& json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string charts_json(const std::vector<Chart>& charts) {
  const Json all = json_list(
      charts, [](const Chart& each) { return std::visit([](const auto& own) { return chart_json(own); }, each); });
  return safe_in_script(all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace znni
