#include "planner/report/html.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerHtml, EscapesWhatIsMarkup) {
  EXPECT_EQ(escaped("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
}

TEST(PlannerHtml, TheFirstRowOfATableIsItsHead) {
  EXPECT_EQ(html_table({{"a", "b"}, {"<1>", ""}}),
            "<div class=\"wide\"><table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>&lt;1&gt;</td><td></td></tr>\n"
            "</table></div>\n");
}

}  // namespace
}  // namespace znni
