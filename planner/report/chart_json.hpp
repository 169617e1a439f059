// Charts as the page's script reads them.
#pragma once

#include <string>
#include <vector>

#include "planner/report/chart.hpp"

namespace znni {

// Makes an array of one object for each chart: id, title, "points": {x, y, series} or "bars": {axis, labels, series,
// shares_rows}. It may stand in a <script> element: it has no '<'.
[[nodiscard]] std::string charts_json(const std::vector<Chart>& charts);

}  // namespace znni
