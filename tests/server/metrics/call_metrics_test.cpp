#include "server/metrics/call_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

rpc::CallRecord call(std::string_view code, const std::string& version = "1") {
  rpc::CallRecord record;
  record.method = "Volumes";
  record.model = "net";
  record.version = version;
  record.code = code;
  record.seconds = 2;
  record.queue_seconds = 0.5;
  record.compute_seconds = 1;
  record.input_wait_seconds = 0.25;
  record.output_wait_seconds = 0.125;
  record.bytes_in = 100;
  record.bytes_out = 400;
  record.voxels = 50;
  record.patches = 3;
  return record;
}

// Returns a part of such a call.
rpc::CallFlow flow(const std::string& version = "1") {
  rpc::CallFlow flow;
  flow.model = "net";
  flow.version = version;
  flow.bytes_in = 10;
  flow.bytes_out = 40;
  flow.voxels = 5;
  flow.patches = 1;
  return flow;
}

std::string text_of(const CallMetrics& metrics) {
  PrometheusText out;
  metrics.write(out);
  return out.text();
}

TEST(CallMetrics, SuccessesAreCountedWithTheirTimes) {
  CallMetrics metrics;
  metrics.add(call("OK"));
  metrics.add(call("OK"));
  const std::string text = text_of(metrics);
  const std::string labels = "{method=\"Volumes\",model=\"net\",version=\"1\"";
  EXPECT_THAT(text, HasSubstr("znni_requests_total" + labels + ",code=\"OK\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_seconds_bucket" + labels + ",le=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_seconds_bucket" + labels + ",le=\"3\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_queue_seconds_sum" + labels + "} 1\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_compute_seconds_sum" + labels + "} 2\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_input_wait_seconds_sum" + labels + "} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("znni_request_output_wait_seconds_sum" + labels + "} 0.25\n"));
}

TEST(CallMetrics, WhatFlowsIsCountedWhenItDoesAndNotOnceMoreWhenTheCallHasEnded) {
  for (const std::string_view code : {"OK", "CANCELLED", "INTERNAL"}) {
    CallMetrics metrics;
    metrics.add(flow());
    metrics.add(flow());
    const auto expect_counted = [&] {
      const std::string text = text_of(metrics);
      EXPECT_THAT(text, HasSubstr("znni_output_voxels_total{model=\"net\",version=\"1\"} 10\n"));
      EXPECT_THAT(text, HasSubstr("znni_patches_total{model=\"net\",version=\"1\"} 2\n"));
      EXPECT_THAT(text, HasSubstr("znni_received_bytes_total{model=\"net\",version=\"1\"} 20\n"));
      EXPECT_THAT(text, HasSubstr("znni_sent_bytes_total{model=\"net\",version=\"1\"} 80\n"));
    };
    expect_counted();
    metrics.add(call(code));
    expect_counted();
  }
}

TEST(CallMetrics, FailuresAreCountedByTheirCode) {
  CallMetrics metrics;
  metrics.add(call("CANCELLED"));
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("code=\"CANCELLED\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("znni_request_seconds_count")));
  EXPECT_THAT(text, HasSubstr("znni_output_voxels_total{model=\"net\",version=\"1\"} 0\n"));
}

TEST(CallMetrics, RefusalsAreCountedByReasonAndAllReasonsAreThere) {
  CallMetrics metrics;
  rpc::CallRecord record = call("UNAVAILABLE");
  record.refusal = "queue_full";
  metrics.add(record);
  metrics.add(record);
  record.refusal = "";
  metrics.add(record);
  const std::string text = text_of(metrics);
  for (const std::string_view reason : rpc::refusals) {
    const std::string sample = "znni_refusals_total{reason=\"" + std::string(reason) + "\"} ";
    EXPECT_THAT(text, HasSubstr(sample + (reason == "queue_full" ? "2\n" : "0\n")));
  }
}

TEST(CallMetrics, NamesThatClientsMakeUpMakeNoSeries) {
  CallMetrics metrics;
  for (int i = 0; i < 100; ++i) {
    rpc::CallRecord record = call("NOT_FOUND", "");
    record.model = "made up " + std::to_string(i);
    metrics.add(record);
    rpc::CallFlow made_up = flow("");
    made_up.model = record.model;
    metrics.add(made_up);
  }
  EXPECT_THAT(text_of(metrics), HasSubstr("znni_received_bytes_total{model=\"\",version=\"\"} 1000\n"));
  EXPECT_THAT(text_of(metrics), HasSubstr("model=\"\",version=\"\",code=\"NOT_FOUND\"} 100\n"));
}

}  // namespace
}  // namespace znni
