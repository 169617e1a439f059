#include "server/jobs/model_slot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/models/onnx_file.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

ModelEntry entry() {
  ModelEntry made;
  made.name = "net";
  made.version = "2";
  return made;
}

TEST(ModelSlot, LoadingAndUnavailableModelsSaySo) {
  ModelSlot slot(entry(), 4);
  EXPECT_EQ(slot.info().state, ModelState::loading);
  EXPECT_EQ(slot.model().error().code, ErrorCode::unavailable);
  EXPECT_EQ(slot.model().error().message, "model 'net' is still loading: waits for other models to be loaded");
  slot.progress().begin("planning");
  slot.progress().tell({340, 1200, 1e5, false});
  EXPECT_THAT(slot.info().reason, MatchesRegex("planning for [0-9]+ s: 340 of 1200 patches looked at, .*"));
  EXPECT_THAT(slot.model().error().message, StartsWith("model 'net' is still loading: planning for "));
  slot.set_unavailable("model.onnx: truncated");
  EXPECT_EQ(slot.info().state, ModelState::unavailable);
  EXPECT_EQ(slot.info().reason, "model.onnx: truncated");
  EXPECT_EQ(slot.model().error().message, "model 'net' is unavailable: model.onnx: truncated");
}

TEST(ModelSlot, AnUnloadedModelIsNotFoundAndSaysHowToLoadIt) {
  ModelSlot slot(entry(), 4);
  slot.set_unloaded();
  EXPECT_EQ(slot.info().state, ModelState::unloaded);
  EXPECT_EQ(slot.info().reason, "not loaded");
  EXPECT_EQ(slot.model().error().code, ErrorCode::not_found);
  EXPECT_EQ(slot.model().error().message,
            "Request for unknown model: 'net' is not loaded; RepositoryModelLoad loads it");
}

// Returns a network of two convolutions of 3 with a normalisation between them.
Network normalised() {
  Network network;
  network.name = "normalised";
  network.nodes = {{"a", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                   {"norm", Norm{2, 1e-5F, {}}, {1}},
                   {"b", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {2}}};
  return network;
}

TEST(ModelSlot, AModelThatNormalisesHasTheWindowOfItsPlan) {
  const test::TemporaryDirectory directory;
  const Network network = normalised();
  test::write_model(directory.path(), "net", "2", test::onnx_text(network, random_weights(network, 1)));
  const Backend* const rows[] = {&test::oracle_backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  const std::unique_ptr<Device> device = test::host_device(1 << 20);
  const CostsOf costs = [](const DeviceSpec&) { return modelled_costs(); };
  const PlanContext context{catalogue, device->spec(), costs, "", {}};
  const ModelEntry found = scan_repository(directory.path())->at(0);
  const Result<PlannedModel> open = plan_model(found, 1 << 20, context, {});
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("the parameter 'window' of its config.pbtxt"));

  const std::string window = "parameters { key: 'window' value { string_value: '8,9,10' } }";
  directory.write("net/config.pbtxt", window);
  const Result<PlannedModel> usual = plan_model(found, 1 << 20, context, {});
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(usual->blend, WindowBlend());
  directory.write("net/config.pbtxt", window + "parameters { key: 'window_overlap' value { string_value: '0.25' } }");
  Result<PlannedModel> planned = plan_model(found, 1 << 20, context, {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_NE(planned->identity, usual->identity) << "other voxels";
  ModelSlot slot(found, 4);
  slot.set_ready(open_model(std::move(*planned), catalogue, *device, {}, {}).value());
  EXPECT_EQ(slot.info().window, (Vec3{8, 9, 10}));
  EXPECT_EQ(slot.info().blend.overlap, 0.25);
  EXPECT_FALSE(slot.info().is_dense);
  EXPECT_FALSE(slot.info().is_resumable());
}

TEST(ModelSlot, AReadyModelIsDescribed) {
  const test::TemporaryDirectory directory;
  Network network = test::simple_network(1);
  network.input_name = "raw";
  network.output_name = "boundary";
  test::write_model(directory.path(), "net", "2", test::onnx_text(network, random_weights(network, 1)));
  const Backend* const rows[] = {&test::oracle_backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  const std::unique_ptr<Device> device = test::host_device(1 << 20);
  const CostsOf costs = [](const DeviceSpec&) { return modelled_costs(); };
  const ModelEntry found = scan_repository(directory.path())->at(0);
  Result<PlannedModel> planned = plan_model(found, 1 << 20, {catalogue, device->spec(), costs, "", {}}, {});
  ASSERT_TRUE(planned) << planned.error().message;
  planned->plan.predicted.endless_voxels_per_second = 12345;  // as of a plan that was made for a volume
  const Plan plan = planned->plan;
  const std::string fingerprint = planned->fingerprint;
  const std::string identity = planned->identity;

  ModelSlot slot(found, 4);
  std::unique_ptr<LoadedModel> model = open_model(std::move(*planned), catalogue, *device, {}, {}).value();
  model->number = 7;
  slot.set_ready(std::move(model));
  const ModelInfo info = slot.info();
  EXPECT_EQ(info.state, ModelState::ready);
  EXPECT_EQ(info.name, "net");
  EXPECT_EQ(info.version, "2");
  EXPECT_EQ(info.number, 7);
  EXPECT_EQ(info.inputs, (std::vector<NamedTensor>{{"raw", info.f_in}}));
  EXPECT_EQ(info.outputs, (std::vector<NamedTensor>{{"boundary", info.f_out}}));
  EXPECT_EQ(info.f_in, 1);
  ASSERT_TRUE(info.layers);
  EXPECT_EQ(info.layers->size(), network.nodes.size());
  EXPECT_EQ(info.layers->front(), network.nodes.front().name);
  EXPECT_EQ(info.f_out, 2);
  EXPECT_EQ(info.window, Vec3{}) << "any extent";
  EXPECT_TRUE(info.is_resumable());
  EXPECT_EQ(info.field_of_view, Vec3::cube(8));
  EXPECT_EQ(info.memory, plan.memory);
  EXPECT_EQ(info.fingerprint, fingerprint);
  EXPECT_EQ(info.identity, identity);
  EXPECT_EQ(info.predicted_voxels_per_second, 12345);
  EXPECT_THAT(info.plan_summary, HasSubstr("test.oracle"));
  ASSERT_TRUE(slot.model());

  const std::shared_ptr<LoadedModel> taken = slot.take_model(ModelState::unloaded);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(slot.info().state, ModelState::unloaded);
  EXPECT_EQ(slot.info().reason, "not loaded");
  EXPECT_EQ(slot.info().memory.total(), 0);
  EXPECT_EQ(slot.take_model(ModelState::loading), nullptr);
  EXPECT_THAT(slot.info().reason, MatchesRegex("waiting for its jobs to end for [0-9]+ s"));
  slot.put_back(taken);
  EXPECT_EQ(*slot.model(), taken);
  EXPECT_EQ(slot.info().memory, plan.memory);
  EXPECT_EQ(slot.info().reason, "");
  slot.set_expected(false);
  EXPECT_FALSE(slot.info().expected);
}

TEST(JobRecord, ASuccessIsCountedOnceWithTheTimesAndVoxelsOfItsJobs) {
  ModelSlot slot(entry(), 4);
  {
    JobRecord record(slot);
    EXPECT_EQ(slot.statistics().queued_now, 0) << "not before it is in line";
    record.in_line();
    EXPECT_EQ(slot.statistics().queued_now, 1);
    record.started();
    EXPECT_EQ(slot.statistics().queued_now, 0);
    EXPECT_EQ(slot.statistics().running_now, 1);
    record.ran({}, 1000);
    record.in_line();
    JobStatistics guest;
    guest.is_guest = true;
    record.started();
    record.ran(guest, 500);
    EXPECT_EQ(slot.statistics().inferences, 0) << "not before all have run";
    record.ended(nullptr);
  }
  const ModelStatistics counters = slot.statistics();
  EXPECT_EQ(counters.succeeded, 1);
  EXPECT_EQ(counters.failed, 0);
  EXPECT_EQ(counters.running_now, 0);
  EXPECT_EQ(counters.inferences, 2);
  EXPECT_EQ(counters.executions, 1);
  EXPECT_EQ(counters.voxels, 1500);
  EXPECT_EQ(counters.success_ns, counters.queue_ns + counters.compute_ns);
  EXPECT_GT(counters.last_unix_ms, 1'600'000'000'000);
}

TEST(JobRecord, TimeIsCountedWhenItIsSpentHoweverTheRequestEnds) {
  ModelSlot slot(entry(), 4);
  JobRecord record(slot);
  record.started();
  record.gained({1, 8, {1, 2, 3, 4, {}}});
  record.gained({1, 8, {1, 2, 3, 4, {}}});
  EXPECT_EQ(slot.statistics().stages.gather, 2);
  EXPECT_EQ(slot.statistics().stages.stitch, 8);
  JobStatistics all;
  all.stages = {2, 4, 6, 8, {}};
  record.ran(all, 16);
  const Error failed{ErrorCode::device_failure, ""};
  record.ended(&failed);
  EXPECT_EQ(slot.statistics().stages.head, 4) << "not once more at the end";
}

TEST(JobRecord, ProgressIsThatOfRequestsWhichHaveStartedAndNotEnded) {
  ModelSlot slot(entry(), 4);
  JobRecord first(slot, 0, 1000);
  JobRecord second(slot, 0, 300);
  second.gained({1, 100, {}});  // as a guest, before it knows
  EXPECT_EQ(slot.statistics().running_voxels, 0);
  EXPECT_EQ(slot.statistics().running_voxels_done, 0);
  first.started();
  second.started();
  first.gained({1, 250, {}});
  first.in_line();  // for the next job of the request
  EXPECT_EQ(slot.statistics().running_voxels, 1300);
  EXPECT_EQ(slot.statistics().running_voxels_done, 350);
  first.started();
  first.gained({1, 250, {}});
  EXPECT_EQ(slot.statistics().running_voxels, 1300);
  EXPECT_EQ(slot.statistics().running_voxels_done, 600);
  const Error cancelled{ErrorCode::cancelled, ""};
  first.ended(&cancelled);
  first.gained({1, 250, {}});  // by the host of a guest that has given up
  EXPECT_EQ(slot.statistics().running_voxels, 300);
  EXPECT_EQ(slot.statistics().running_voxels_done, 100);
  second.ended(nullptr);
  EXPECT_EQ(slot.statistics().running_voxels, 0);
  EXPECT_EQ(slot.statistics().running_voxels_done, 0);
}

TEST(JobRecord, AJobMayBeInLineOnceMore) {
  ModelSlot slot(entry(), 4);
  JobRecord record(slot);
  record.started();
  record.in_line();
  EXPECT_EQ(slot.statistics().queued_now, 1);
  EXPECT_EQ(slot.statistics().running_now, 0);
  const Error cancelled{ErrorCode::cancelled, ""};
  record.ended(&cancelled);
  EXPECT_EQ(slot.statistics().queued_now, 0);
}

TEST(JobRecord, WhatItsRequestHoldsIsCountedWhereItIs) {
  ModelSlot slot(entry(), 4);
  JobRecord first(slot, 1000);
  JobRecord second(slot, 50);
  first.in_line();
  second.in_line();
  EXPECT_EQ(slot.statistics().queued_bytes, 1050);
  first.started();
  EXPECT_EQ(slot.statistics().queued_bytes, 50);
  EXPECT_EQ(slot.statistics().running_bytes, 1000);
  first.ended(nullptr);
  second.ended(nullptr);
  EXPECT_EQ(slot.statistics().queued_bytes, 0);
  EXPECT_EQ(slot.statistics().running_bytes, 0);
}

TEST(JobRecord, TimeAsideIsWaitingNotComputing) {
  ModelSlot slot(entry(), 4);
  JobRecord record(slot);
  record.started();
  record.stood_aside(std::chrono::hours(1));
  EXPECT_EQ(record.yielded(), 3600);
  EXPECT_GE(record.queued(), 0);
  record.ran({}, 1);
  EXPECT_EQ(record.yielded(), 0) << "of the next";
  record.ended(nullptr);
  const ModelStatistics counters = slot.statistics();
  EXPECT_GE(counters.queue_ns, std::chrono::nanoseconds(std::chrono::hours(1)).count());
  EXPECT_EQ(counters.success_ns, counters.queue_ns + counters.compute_ns);
}

TEST(JobRecord, FailuresAndCancellationsAreCountedApart) {
  ModelSlot slot(entry(), 4);
  const Error cancelled{ErrorCode::cancelled, ""};
  const Error failed{ErrorCode::device_failure, ""};
  { JobRecord(slot).ended(&cancelled); }
  {
    JobRecord record(slot);
    record.started();
    record.ran({}, 5);
    record.ended(&failed);
  }
  { const JobRecord lost(slot); }
  const ModelStatistics counters = slot.statistics();
  EXPECT_EQ(counters.cancelled, 1);
  EXPECT_EQ(counters.failed, 2);
  EXPECT_EQ(counters.succeeded, 0);
  EXPECT_EQ(counters.voxels, 0);
  EXPECT_EQ(counters.queued_now, 0);
  EXPECT_EQ(counters.running_now, 0);
}

}  // namespace
}  // namespace znni
