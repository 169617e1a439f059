#include "server/metrics/server_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/fake_model_server.hpp"

namespace znni {
namespace {

using rpc::FakeModelServer;
using testing::HasSubstr;
using testing::Not;

TEST(ServerMetrics, ModelsQueuesAndMemory) {
  FakeModelServer models;
  const Result<TransportLease> lease = models.lease(12345);
  MemoryShares shares;
  shares.base = 7;
  shares.receiving = 8;
  PrometheusText out;
  write_server_metrics(models, shares, "1.2.3", out);
  const std::string& text = out.text();
  EXPECT_THAT(text, HasSubstr("znni_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("znni_ready 1\n"));
  EXPECT_THAT(text,
              HasSubstr("znni_model_info{model=\"twice\",version=\"2\",state=\"ready\",plan=\"patch 8x8x8\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("state=\"unavailable\""));
  EXPECT_THAT(text, HasSubstr("znni_model_memory_bytes{model=\"twice\",version=\"2\",kind=\"transient\"} 300\n"));
  EXPECT_THAT(text, HasSubstr("znni_jobs{model=\"twice\",version=\"2\",state=\"queued\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("znni_job_bytes{model=\"twice\",version=\"2\",state=\"queued\"} 4000\n"));
  EXPECT_THAT(text, HasSubstr("znni_job_bytes{model=\"twice\",version=\"2\",state=\"running\"} 300\n"));
  EXPECT_THAT(text, HasSubstr("znni_job_voxels{model=\"twice\",version=\"2\",state=\"asked\"} 5000\n"));
  EXPECT_THAT(text, HasSubstr("znni_job_voxels{model=\"twice\",version=\"2\",state=\"done\"} 1250\n"));
  EXPECT_THAT(text, Not(HasSubstr("znni_gpu_memory"))) << "there is none";
  EXPECT_THAT(text, HasSubstr("znni_gpu_lost 0\n"));
  EXPECT_THAT(text, HasSubstr("znni_memory_budget_bytes{pool=\"process\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("znni_memory_budget_bytes{pool=\"transport\"} 67108864\n"));
  EXPECT_THAT(text, HasSubstr("znni_memory_used_bytes{pool=\"transport\"} 12345\n"));
  EXPECT_THAT(text, HasSubstr("znni_memory_used_bytes{pool=\"models\"} 600\n"));
  EXPECT_THAT(text, testing::ContainsRegex("process_resident_memory_bytes [1-9][0-9]+\n"));
}

TEST(ServerMetrics, CpuAndGpuTogether) {
  FakeModelServer models;
  models.fallback = "it is on fire";
  models.gpu = GpuLoss{"it read where nothing is", false};
  PrometheusText out;
  write_server_metrics(models, {}, "1.2.3", out);
  const std::string& text = out.text();
  EXPECT_THAT(text, HasSubstr("znni_model_gpu_lost{model=\"twice\",version=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("znni_model_gpu_lost{model=\"twice\",version=\"2\",reason=\"it is on fire\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("znni_gpu_lost{reason=\"it read where nothing is\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("znni_nonfinite_voxels_total{model=\"twice\",version=\"2\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("znni_fallback_jobs_total{model=\"twice\",version=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("znni_pipeline_idle_seconds_total{model=\"twice\",version=\"2\",place=\"cpu\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("znni_pipeline_idle_seconds_total{model=\"twice\",version=\"2\",place=\"gpu\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("znni_gpu_memory_budget_bytes{space=\"device\"} 8000\n"));
  EXPECT_THAT(text, HasSubstr("znni_gpu_memory_budget_bytes{space=\"pinned\"} 8000\n"));
  EXPECT_THAT(text, HasSubstr("znni_gpu_memory_used_bytes{space=\"device\"} 7000\n"));
  EXPECT_THAT(text, HasSubstr("znni_gpu_memory_used_bytes{space=\"pinned\"} 0\n"));
}

TEST(ServerMetrics, WhereTheTimeOfJobsWent) {
  FakeModelServer models;
  PrometheusText out;
  write_server_metrics(models, {}, "1.2.3", out);
  for (const char* sample : {"gather\"} 1\n", "head\"} 2\n", "tail\"} 3\n", "stitch\"} 4\n"}) {
    EXPECT_THAT(out.text(),
                HasSubstr("znni_stage_seconds_total{model=\"twice\",version=\"2\",stage=\"" + std::string(sample)));
  }
  EXPECT_THAT(out.text(), HasSubstr("znni_guest_jobs_total{model=\"twice\",version=\"2\"} 5\n"));
}

TEST(UnreadyReason, NamesTheModelThatIsNot) {
  FakeModelServer models;
  EXPECT_FALSE(unready_reason(models));
  models.is_ready = false;
  EXPECT_THAT(unready_reason(models).value(), HasSubstr("model 'broken' is unavailable: model.onnx: truncated"));
}

TEST(StuckReason, ComesWhenNothingMovesForTooLong) {
  FakeModelServer models;
  EXPECT_FALSE(stuck_reason(models, 60));
  models.still_for = 61;
  EXPECT_THAT(stuck_reason(models, 60).value(), HasSubstr("no progress for 61 s"));
}

}  // namespace
}  // namespace znni
