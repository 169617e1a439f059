// `planner --report`: one page that needs no other file. It shows the answer, what was measured beside it, and the
// patches that were looked at. It shows what memory and patch size are worth (figures 4, 5 and 7 of ZNNi). Time and
// memory of every layer, the course of a pass and what was refused follow.
#pragma once

#include <string>

#include "planner/report/report_facts.hpp"

namespace znni {

// Returns HTML with its own plotting library, style and data, readable on screens of 420 pixels, too. Without scripts
// the tables remain. The page forbids browsers to load anything.
[[nodiscard]] std::string report_page(const ReportFacts& facts);

}  // namespace znni
