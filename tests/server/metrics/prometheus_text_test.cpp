#include "server/metrics/prometheus_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace znni {
namespace {

TEST(PrometheusText, FamiliesAndSamples) {
  PrometheusText out;
  out.family("znni_x_total", "counter", "What it is.");
  out.sample({}, std::int64_t{7});
  out.sample({{"model", "net"}, {"code", "OK"}}, 0.25);
  EXPECT_EQ(out.text(),
            "# HELP znni_x_total What it is.\n# TYPE znni_x_total counter\n"
            "znni_x_total 7\nznni_x_total{model=\"net\",code=\"OK\"} 0.25\n");
}

TEST(PrometheusText, LabelsCannotForgeLines) {
  PrometheusText out;
  out.family("x", "gauge", "");
  out.sample({{"model", "a\"} 1\ny{b=\"\\\t"}}, std::int64_t{1});
  EXPECT_NE(out.text().find("x{model=\"a\\\"} 1\\ny{b=\\\"\\\\ \"} 1\n"), std::string::npos) << out.text();
}

TEST(PrometheusText, NumbersThatAreNone) {
  PrometheusText out;
  out.family("x", "gauge", "");
  out.sample({}, std::numeric_limits<double>::quiet_NaN());
  out.sample({}, std::numeric_limits<double>::infinity());
  EXPECT_NE(out.text().find("x NaN\nx +Inf\n"), std::string::npos);
}

TEST(Histogram, CountsByUpperBoundsAddedUp) {
  static constexpr std::array<double, 2> bounds = {1, 10};
  Histogram histogram(bounds);
  for (const double value : {0.5, 1.0, 1.5, 10.0, 11.0}) histogram.observe(value);
  EXPECT_EQ(histogram.sum(), 24);
  PrometheusText out;
  out.family("h", "histogram", "");
  out.sample({{"a", "b"}}, histogram);
  EXPECT_NE(out.text().find("h_bucket{a=\"b\",le=\"1\"} 2\nh_bucket{a=\"b\",le=\"10\"} 4\n"
                            "h_bucket{a=\"b\",le=\"+Inf\"} 5\nh_sum{a=\"b\"} 24\nh_count{a=\"b\"} 5\n"),
            std::string::npos)
      << out.text();
}

}  // namespace
}  // namespace znni
