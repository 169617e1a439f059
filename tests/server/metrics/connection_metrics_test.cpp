#include "server/metrics/connection_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

TEST(ConnectionMetrics, OpenAndRefusedOnesAreTold) {
  PrometheusText out;
  write_connections({3, 512, 10, 20, 25, 30, 7}, out);
  EXPECT_THAT(out.text(), HasSubstr("\nznni_connections 3\n"));
  EXPECT_THAT(out.text(), HasSubstr("\nznni_connections_limit 512\n"));
  EXPECT_THAT(out.text(), HasSubstr("znni_refused_connections_total{limit=\"server\"} 10\n"));
  EXPECT_THAT(out.text(), HasSubstr("znni_refused_connections_total{limit=\"client\"} 20\n"));
  EXPECT_THAT(out.text(), HasSubstr("znni_refused_connections_total{limit=\"resets\"} 25\n"));
  EXPECT_THAT(out.text(), HasSubstr("\nznni_cut_connections_total 7\n"));
  EXPECT_THAT(out.text(), HasSubstr("znni_refused_connections_total{limit=\"descriptors\"} 30\n"));
}

TEST(ConnectionMetrics, ClosedOnesOfTheHttpPortAreTold) {
  PrometheusText out;
  write_http_connections({4, 5}, out);
  EXPECT_THAT(out.text(), HasSubstr("\nznni_http_closed_connections_total{reason=\"share\"} 4\n"));
  EXPECT_THAT(out.text(), HasSubstr("\nznni_http_closed_connections_total{reason=\"late\"} 5\n"));
}

}  // namespace
}  // namespace znni
