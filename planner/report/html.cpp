#include "planner/report/html.hpp"

namespace znni {

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

std::string html_table(const std::vector<TextRow>& rows) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string cell = i == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& text : rows[i]) html += "<" + cell + ">" + escaped(text) + "</" + cell + ">";
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace znni
