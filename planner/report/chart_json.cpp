#include "planner/report/chart_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace znni {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(ChartUnit unit) {
  constexpr std::array names = {"number", "bytes", "seconds"};
  return names[static_cast<std::size_t>(unit)];
}

const char* name_of(ChartMark mark) {
  constexpr std::array names = {"dots", "line", "area", "ring"};
  return names[static_cast<std::size_t>(mark)];
}

template <class Items, class Function>
Json list(const Items& items, Function one) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(one(item));
  return array;
}

Json axis(const ChartAxis& own) {
  return {{"title", own.title}, {"unit", name_of(own.unit)}, {"logarithmic", own.logarithmic}};
}

Json point(const ChartPoint& own) { return {{"x", own.x}, {"y", own.y}, {"text", own.text}}; }

Json series(const ChartSeries& own) {
  return {{"name", own.name}, {"mark", name_of(own.mark)}, {"points", list(own.points, point)}};
}

Json bar(const std::optional<ChartBar>& own) {
  if (!own) return nullptr;
  return {{"from", own->from}, {"to", own->to}, {"text", own->text}};
}

Json bars(const BarSeries& own) { return {{"name", own.name}, {"bars", list(own.bars, bar)}}; }

Json chart(const PointChart& own) {
  Json points = {{"x", axis(own.x)}, {"y", axis(own.y)}, {"series", list(own.series, series)}};
  return {{"id", own.id}, {"title", own.title}, {"points", std::move(points)}};
}

Json chart(const BarChart& own) {
  Json all = {{"axis", axis(own.axis)}, {"labels", own.labels}, {"series", list(own.series, bars)}};
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
  const Json all =
      list(charts, [](const Chart& each) { return std::visit([](const auto& own) { return chart(own); }, each); });
  return safe_in_script(all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace znni
