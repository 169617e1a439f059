// Files that the build puts into the program for the page of --report (planner/CMakeLists.txt).
#pragma once

#include <string_view>

namespace znni {

extern const std::string_view page_style;    // report_page.css
extern const std::string_view page_script;   // report_page.js
extern const std::string_view plot_library;  // Chart.js, minified; it has no "</script"
extern const std::string_view plot_licence;  // of Chart.js: what must go with every copy

}  // namespace znni
