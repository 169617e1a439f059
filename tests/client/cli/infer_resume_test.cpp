// Runs that continue after they were interrupted, refused or killed.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <thread>

#include "client/cli/infer.hpp"
#include "client/cli/parts.hpp"
#include "client/cli/resume.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"

namespace znni::client {
namespace {

// Four parts of the output of 7x4x6 voxels; all but the first are smaller.
constexpr Vec3 resumed_part{1, 3, 4};

void remove_by_hand(const FileName& name) {
  if (name.dataset.empty()) {
    ASSERT_TRUE(std::filesystem::remove(name.path));
    return;
  }
  const hid_t file = H5Fopen(name.path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Ldelete(file, name.dataset.c_str(), H5P_DEFAULT), 0);
  ASSERT_GE(H5Fclose(file), 0);
}

TEST(InferResume, InterruptedRunGoesOnToTheSameOutput) {
  const Scratch scratch;
  const std::string output = scratch.file("out.h5") + ":/prob";
  {
    const FakeDaemon dying(Behaviour::dies_in_the_middle);
    const auto outcome = run_infer(options_for(dying, scratch, "out.h5:/prob"), {});
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("--resume"), std::string::npos) << outcome.error().message;
    EXPECT_EQ(exit_code(outcome.error()), 1);
    EXPECT_FALSE(output_exists(parse_file_name(output)));
  }
  const FakeDaemon daemon;
  Options options = options_for(daemon, scratch, "out.h5:/prob");
  options.resume = true;
  const auto outcome = run_infer(options, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->json.find("\"resumed_planes\":3"), std::string::npos) << outcome->json;
  expect_middle(output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  EXPECT_FALSE(read_resume(parse_file_name(output))->has_value());
}

// Two parts and half of the third exist.
TEST(InferResume, InterruptedPartsGoOn) {
  const Scratch scratch;
  for (const char* name : {"out.npy", "out.h5:/prob", "out.tif"}) {
    {
      const FakeDaemon dying(Behaviour::dies_in_the_middle, {resumed_part, "model", 2});
      const auto outcome = run_infer(options_for(dying, scratch, name), {});
      ASSERT_FALSE(outcome);
      EXPECT_NE(outcome.error().message.find("2 of 4 parts and 3 of 7 planes are kept"), std::string::npos)
          << outcome.error().message;
    }
    const FakeDaemon daemon(Behaviour::sound, {Vec3::cube(2)});  // prefers other parts now
    Options options = options_for(daemon, scratch, name);
    EXPECT_FALSE(output_exists(parse_file_name(options.output)));
    const auto unasked = run_infer(options, {});
    ASSERT_FALSE(unasked);
    EXPECT_NE(unasked.error().message.find("2 of 4 parts and 3 of 7 planes are there"), std::string::npos);
    options.resume = true;
    const auto outcome = run_infer(options, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(daemon.streams(), 2);
    EXPECT_NE(outcome->json.find("\"resumed_parts\":2,\"resumed_planes\":3"), std::string::npos) << outcome->json;
    expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
    EXPECT_FALSE(read_resume(parse_file_name(options.output))->has_value());
  }
}

// In one stream and in parts; only with the flag that it was begun with.
TEST(InferResume, ACompressedRunGoesOnAsItBegan) {
  const Scratch scratch;
  for (const Vec3 advised : {Vec3{}, resumed_part}) {
    for (const bool compresses : {true, false}) {
      const FakeDaemon dying(Behaviour::dies_in_the_middle, {advised, "model", advised == Vec3{} ? 0 : 2});
      Options options = options_for(dying, scratch, "out.h5:/prob");
      options.overwrite = true;
      options.compress = compresses;
      ASSERT_FALSE(run_infer(options, {}));
      const FakeDaemon daemon(Behaviour::sound, {advised});
      options.server = daemon.address();
      options.overwrite = false;
      options.resume = true;
      options.compress = !compresses;
      const auto other = run_infer(options, {});
      ASSERT_FALSE(other);
      EXPECT_EQ(exit_code(other.error()), 2);
      const std::string begun = compresses ? "compressed: leave out --no-compress" : "uncompressed: add --no-compress";
      EXPECT_EQ(other.error().message,
                "--resume: " + options.output + " was begun " + begun + ", or start over with --overwrite");
      options.compress = compresses;
      const auto outcome = run_infer(options, {});
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_NE(outcome->json.find("\"resumed_planes\":3"), std::string::npos) << outcome->json;
      expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
      EXPECT_FALSE(std::filesystem::exists(scratch.file("out.h5.prob.partial.pieces")));
    }
  }
}

TEST(InferResume, InterruptedBetweenPartsGoesOnOnlyWithTheSameModel) {
  const Scratch scratch;
  const FakeDaemon refusing(Behaviour::refuses, {resumed_part, "model", 2});
  Options options = options_for(refusing, scratch, "out.npy");
  options.wait_seconds = 0;
  const auto refused = run_infer(options, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("2 of 4 parts and 0 of 7 planes are kept"), std::string::npos);
  options.resume = true;
  const FakeDaemon retrained(Behaviour::sound, {resumed_part, "another"});
  options.server = retrained.address();
  const auto other = run_infer(options, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::corrupt_file);
  EXPECT_NE(other.error().message.find("another than that of the parts"), std::string::npos) << other.error().message;
  // The run was killed after the last plane of a part.
  ResumeState state = **read_resume(parse_file_name(options.output));
  state.parts_done = 1;
  state.planes_done = 7;
  ASSERT_TRUE(write_resume(parse_file_name(options.output), state));
  const FakeDaemon daemon(Behaviour::sound, {resumed_part});
  options.server = daemon.address();
  ASSERT_TRUE(run_infer(options, {}));
  EXPECT_EQ(daemon.streams(), 2);
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

// The daemon refuses twice after the second part, and once before the rest of an interrupted run.
TEST(InferResume, ARefusalBetweenPartsPasses) {
  const Scratch scratch;
  const FakeDaemon busy(Behaviour::refuses, {resumed_part, "model", 2, 2});
  Options options = options_for(busy, scratch, "out.npy");
  options.progress = true;
  testing::internal::CaptureStderr();
  const auto outcome = run_infer(options, {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::ContainsRegex("trying again for (10:00|9:[0-9][0-9]): needs 9 GiB"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(busy.streams(), 6);
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  const FakeDaemon dying(Behaviour::dies_in_the_middle, {resumed_part, "model", 2});
  Options broken = options_for(dying, scratch, "broken.npy");
  ASSERT_FALSE(run_infer(broken, {})) << "what broke in the middle of a part is not tried again";
  const FakeDaemon filled(Behaviour::refuses, {resumed_part, "model", 0, 2});
  broken.server = filled.address();
  broken.resume = true;
  testing::internal::CaptureStderr();
  ASSERT_TRUE(run_infer(broken, {}));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("znni: trying again for (10:00|9:[0-9][0-9]): needs 9 GiB, has 1 GiB\n"))
      << "once, where no progress is shown";
  EXPECT_EQ(filled.streams(), 4);
  expect_middle(broken.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

TEST(InferResume, AWaitBetweenPartsEndsWhenInterrupted) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::refuses, {resumed_part, "model", 2});
  std::stop_source stop;
  const std::jthread canceller([&] {
    while (daemon.streams() < 3) std::this_thread::yield();
    stop.request_stop();
  });
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), stop.get_token());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(exit_code(outcome.error()), 130);
  EXPECT_NE(outcome.error().message.find("2 of 4 parts"), std::string::npos) << outcome.error().message;
}

TEST(InferResume, ANewModelBetweenPartsIsNothingToGoOnWith) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::is_retrained, {resumed_part, "model", 2});
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(daemon.streams(), 3);
  EXPECT_EQ(outcome.error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(outcome.error().message.find("--resume"), std::string::npos) << outcome.error().message;
}

// All is computed, but finish() fails, as on a full disk.
TEST(InferResume, AnOutputThatCannotBeFinishedIsFinishedLater) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {resumed_part});
  const FakeDaemon whole;
  for (const auto& [name, from] : {std::pair{"out.npy", &whole}, {"parts.npy", &daemon}, {"parts.tif", &daemon}}) {
    Options options = options_for(*from, scratch, name);
    std::filesystem::create_directories(options.output + "/in the way");
    options.overwrite = true;
    const auto outcome = run_infer(options, {});
    ASSERT_FALSE(outcome);
    const std::string kept = from == &whole ? "7 of 7 planes are kept" : "4 of 4 parts and 0 of 7 planes are kept";
    EXPECT_NE(outcome.error().message.find(kept), std::string::npos) << outcome.error().message;
    options.overwrite = false;
    options.resume = true;
    const auto again = run_infer(options, {});
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message.find("go on with --resume"), std::string::npos) << again.error().message;
    std::filesystem::remove_all(options.output);
    ASSERT_TRUE(run_infer(options, {}));
    expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  }
  EXPECT_EQ(daemon.streams() + whole.streams(), 9) << "none of them twice";
}

// The run was killed before it removed the record.
TEST(InferResume, AFinishedOutputWithItsRecordIsDone) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {resumed_part});
  for (const char* name : {"out.npy", "out.h5:/prob", "out.tif"}) {
    const FakeDaemon dying(Behaviour::dies_in_the_middle, {resumed_part, "model", 2});
    Options options = options_for(dying, scratch, name);
    ASSERT_FALSE(run_infer(options, {}));
    const FileName output = parse_file_name(options.output);
    ResumeState state = **read_resume(output);
    options.server = daemon.address();
    options.resume = true;
    ASSERT_TRUE(run_infer(options, {}));
    state.parts_done = 4;
    state.planes_done = 0;
    ASSERT_TRUE(write_resume(output, state));
    const auto outcome = run_infer(options, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(read_resume(output)->has_value());
    expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  }
  EXPECT_EQ(daemon.streams(), 6) << "two parts of each, once";
}

// All was computed, to replace an older output, but the partial output is gone. The output that exists is the older
// one.
TEST(InferResume, AnOlderOutputIsNotTakenForTheOneThatIsGone) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {resumed_part});
  for (const char* name : {"out.npy", "out.h5:/prob", "out.tif"}) {
    Options options = options_for(daemon, scratch, name);
    ASSERT_TRUE(run_infer(options, {}));
    const FileName output = parse_file_name(options.output);
    const FileName partial = partial_name(output);
    options.overwrite = true;
    const FakeDaemon dying(Behaviour::dies_in_the_middle, {resumed_part, "model", 2});
    options.server = dying.address();
    ASSERT_FALSE(run_infer(options, {}));
    ResumeState state = **read_resume(output);
    state.parts_done = 4;
    state.planes_done = 0;
    ASSERT_TRUE(write_resume(output, state));
    remove_by_hand(partial);
    options.overwrite = false;
    options.resume = true;
    const auto outcome = run_infer(options, {});
    ASSERT_FALSE(outcome) << name;
    EXPECT_EQ(exit_code(outcome.error()), 2);
    EXPECT_NE(outcome.error().message.find(to_string(partial) + ": is gone"), std::string::npos)
        << outcome.error().message;
    options.resume = false;
    options.overwrite = true;
    options.server = daemon.address();
    ASSERT_TRUE(run_infer(options, {}));
    options.overwrite = false;
    options.resume = true;
    ASSERT_TRUE(write_resume(output, state));  // killed before the record was removed
    ASSERT_TRUE(run_infer(options, {}));
  }
}

// All parts exist, but the stack is not yet made of them.
TEST(InferResume, ARunThatDiedBeforeItsEndHasNothingToCompute) {
  const Scratch scratch;
  const FakeDaemon refusing(Behaviour::refuses, {resumed_part, "model", 3});
  Options options = options_for(refusing, scratch, "out.tif");
  options.wait_seconds = 0;
  ASSERT_FALSE(run_infer(options, {}));
  const FileName name = parse_file_name(options.output);
  Result<VolumeTarget> target = open_target_in_parts(name, {1, {7, 4, 6}, VoxelType::f32}, true);
  ASSERT_TRUE(target);
  ResumeState state = **read_resume(name);
  const Parts parts{{7, 4, 6}, {7, state.part_y, state.part_x}};
  const Box last = parts.box(3);
  for (std::int64_t z = 0; z < 7; ++z) {
    std::vector<float> values;
    for (const std::byte byte :
         test_window(input_facts, z + 1, {last.start + Vec3::cube(1), last.stop + Vec3::cube(1)}))
      values.push_back(static_cast<float>(std::to_integer<int>(byte)));
    ASSERT_TRUE(target->write_plane(z, last, std::as_bytes(std::span(values))));
  }
  ASSERT_TRUE(target->flush());
  state.parts_done = 4;
  ASSERT_TRUE(write_resume(name, state));
  options.resume = true;
  const auto outcome = run_infer(options, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(refusing.streams(), 4) << "and no other";
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

TEST(InferResume, ACancelInALaterPartKeepsTheEarlierOnes) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::never_answers, {resumed_part, "model", 1});
  std::stop_source stop;
  std::jthread canceller([&] {
    while (daemon.streams() < 2) std::this_thread::yield();
    stop.request_stop();
  });
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), stop.get_token());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(exit_code(outcome.error()), 130);
  EXPECT_NE(outcome.error().message.find("1 of 4 parts"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(daemon.streams(), 2);
}

// A supervisor gives the same command to the first attempt and to later ones.
TEST(InferResume, NothingToResumeBeginsAnew) {
  const Scratch scratch;
  const FakeDaemon daemon;
  Options options = options_for(daemon, scratch, "out.npy");
  options.resume = true;
  testing::internal::CaptureStderr();
  const auto outcome = run_infer(options, {});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("nothing to resume"), std::string::npos);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  const auto again = run_infer(options, {});
  ASSERT_FALSE(again) << "what is there in full is not computed again";
  EXPECT_EQ(exit_code(again.error()), 2);
}

// A record of an older attempt must not vouch for planes that a newer one has not written.
TEST(InferResume, StartingOverForgetsTheOldRecord) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  ASSERT_FALSE(run_infer(options, {}));
  const FakeDaemon hanging(Behaviour::skips_bytes);  // accepts, then sends useless chunks
  options.server = hanging.address();
  options.overwrite = true;
  ASSERT_FALSE(run_infer(options, {}));
  EXPECT_FALSE(read_resume(parse_file_name(options.output))->has_value());
}

}  // namespace
}  // namespace znni::client
