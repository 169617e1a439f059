// Text and tables of HTML pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/base/text_table.hpp"

namespace znni {

// Returns text that is safe between tags and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

// Makes a table whose first row is the head; its cells are text, not markup.
[[nodiscard]] std::string html_table(const std::vector<TextRow>& rows);

}  // namespace znni
