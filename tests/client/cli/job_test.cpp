#include "client/cli/job.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <stop_token>
#include <thread>

#include "client/cli/infer.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"

namespace znni::client {
namespace {

TEST(Job, ADaemonThatCannotTellGetsAllInOneStream) {
  const FakeDaemon daemon;
  const Scratch scratch;
  ASSERT_TRUE(run_infer(options_for(daemon, scratch, "out.npy"), {}));
  EXPECT_EQ(daemon.streams(), 1);
}

TEST(Job, NorIsADaemonNeededThatTellsTheParts) {
  using grpc::StatusCode;
  const Scratch scratch;
  for (const StatusCode code : {StatusCode::DEADLINE_EXCEEDED, StatusCode::INTERNAL, StatusCode::UNKNOWN}) {
    const FakeDaemon daemon(Behaviour::sound, {{1, 3, 4}, "model", 0, 0, code});
    testing::internal::CaptureStderr();
    const auto outcome = run_infer(options_for(daemon, scratch, std::to_string(code) + ".npy"), {});
    EXPECT_NE(testing::internal::GetCapturedStderr().find("it goes in one stream: "), std::string::npos);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(daemon.streams(), 1);
  }
  const FakeDaemon refusing(Behaviour::sound, {{1, 3, 4}, "model", 0, 0, StatusCode::INVALID_ARGUMENT});
  EXPECT_FALSE(run_infer(options_for(refusing, scratch, "refused.npy"), {}));
  EXPECT_EQ(refusing.streams(), 0);
}

// The field of view is 3x3x3. The model's window of 9x6x8 voxels is sent as a whole, though the box is smaller.
TEST(Job, TheOutputHasItsPlaceInTheInput) {
  const FakeDaemon daemon;
  const Connection connection(daemon.address());
  const Scratch scratch;
  for (const char* model : {"crop", "bound"}) {
    Options options = options_for(daemon, scratch, "out.npy");
    options.model = model;
    EXPECT_EQ(make_job(options, connection, {})->offset(), (Vec3{1, 1, 1}));
    options.bbox = "2:7,1:,:5";
    EXPECT_EQ(make_job(options, connection, {})->offset(), (Vec3{3, 2, 1}));
    options.padding = Padding::reflect;
    EXPECT_EQ(make_job(options, connection, {})->offset(), (Vec3{2, 1, 0}));
    options.bbox = "";
    EXPECT_EQ(make_job(options, connection, {})->offset(), (Vec3{0, 0, 0}));
  }
}

TEST(Job, OutputInTheInputFileIsRefused) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "unused.npy");
  options.output = options.input;
  options.overwrite = true;
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(exit_code(outcome.error()), 2);
  EXPECT_TRUE(std::filesystem::exists(options.input));
}

TEST(Job, WhatTheUserCanMend) {
  const FakeDaemon daemon;
  const Scratch scratch;
  const auto code = [](const Options& options) {
    const auto outcome = run_infer(options, {});
    return outcome ? 0 : exit_code(outcome.error());
  };
  Options there = options_for(daemon, scratch, "there.npy");
  ASSERT_EQ(code(there), 0);
  EXPECT_EQ(code(there), 2) << "an output that is there is not overwritten";
  there.overwrite = true;
  EXPECT_EQ(code(there), 0);
  Options small = options_for(daemon, scratch, "small.npy");
  small.bbox = "0:2,:,:";
  EXPECT_EQ(code(small), 2) << "smaller than the field of view";
  Options unknown = options_for(daemon, scratch, "unknown.npy");
  unknown.model = "nobody";
  EXPECT_EQ(code(unknown), 2);
}

TEST(Job, ABoxOfAModelThatNormalisesIsThatOfTheVolume) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "whole.npy");
  options.model = "bound";
  const auto whole = run_infer(options, {});
  ASSERT_TRUE(whole) << whole.error().message;
  options.padding = Padding::reflect;
  for (const auto& [text, box] : {std::pair{":,:,:", Box{{0, 0, 0}, {9, 6, 8}}},
                                  {"1:9,:,:", {{1, 0, 0}, {9, 6, 8}}},
                                  {"1:8,1:5,1:7", {{1, 1, 1}, {8, 5, 7}}},
                                  {"8:9,5:6,7:8", {{8, 5, 7}, {9, 6, 8}}}}) {
    options.bbox = text;
    options.output = scratch.file(std::string("box") + text[0] + text[2] + ".npy");
    const auto outcome = run_infer(options, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_middle(options.output, box);
  }
}

// The daemon is given more than the box, of which it returns the middle voxels.
TEST(Job, ABoxOfAModelThatPadsIsThatOfTheVolume) {
  const Habits habits = {.properties = {{"padding_before", "2,1,0"},
                                        {"padding_after", "1,1,1"},
                                        {"input_period", "2,1,2"},
                                        {"least_input", "3,3,4"}}};
  const FakeDaemon daemon(Behaviour::sound, habits);
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "none.npy");
  options.bbox = "4:8,1:5,2:6";  // with its field of view of 3x3x3
  ASSERT_TRUE(run_infer(options, {}));
  expect_middle(options.output, {{5, 2, 3}, {7, 4, 5}});
  options.padding = Padding::reflect;
  options.bbox = "5:6,2:3,3:7";
  options.output = scratch.file("reflect.npy");
  const auto outcome = run_infer(options, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_middle(options.output, {{5, 2, 3}, {6, 3, 7}});
  EXPECT_NE(outcome->json.find("\"extent\":[1,1,4]"), std::string::npos) << outcome->json;
}

TEST(Job, ABoxOfAVolumeThatSuitsNoStrideIsRefusedWithTheVolume) {
  const FakeDaemon daemon(Behaviour::sound, {.properties = {{"input_period", "4,1,1"}, {"least_input", "3,3,3"}}});
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  options.bbox = "1:8,1:5,1:7";
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            options.input + ": has 9 voxels along z; the strides of model 'crop' need steps of 4, here 7 or 11");
  EXPECT_EQ(daemon.streams(), 0);
  options.padding = Padding::reflect;  // which makes it 11
  EXPECT_TRUE(run_infer(options, {}));
}

TEST(Job, ABoxOfAModelThatNeedsTheWholeVolumeIsRefused) {
  const FakeDaemon daemon(Behaviour::sound, {.properties = {{"input_zscore", "volume"}}});
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  ASSERT_TRUE(run_infer(options, {}));
  options.output = scratch.file("box.npy");
  options.bbox = "1:8,1:5,1:7";
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            "--bbox: model 'crop' takes mean and deviation of all of the volume, which a box by itself does not have: "
            "leave --bbox out, or give --scale and --offset");
  options.scale = 1.0F;
  options.offset = 0.0F;
  EXPECT_TRUE(run_infer(options, {})) << "the client normalises";
}

// An output that a daemon without resume tokens began cannot be continued.
TEST(Job, ABoxThatIsCutLeavesNothing) {
  const Habits habits = {.properties = {{"padding_before", "1,1,1"}, {"padding_after", "1,1,1"}}};
  const FakeDaemon dying(Behaviour::dies_in_the_middle, habits);
  const Scratch scratch;
  Options options = options_for(dying, scratch, "out.npy");
  options.bbox = "1:8,1:5,1:7";
  ASSERT_FALSE(run_infer(options, {}));
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_FALSE(output_exists(partial_name({options.output, ""})));
  EXPECT_FALSE(std::filesystem::exists(resume_path({options.output, ""})));
}

TEST(Job, AModelThatLosesVoxelsTakesItsWindowAtLeast) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  options.model = "wide";
  const auto refused = run_infer(options, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, options.input +
                                         ": 9x6x8 voxels are less than the window along an axis, 9x7x8 of model "
                                         "'wide'; try --padding reflect");
  options.padding = Padding::reflect;
  EXPECT_TRUE(run_infer(options, {}));
}

TEST(Job, ResumeOfAnotherJobIsRefused) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  ASSERT_FALSE(run_infer(options, {}));
  options.resume = true;
  options.padding = Padding::zero;
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("padding"), std::string::npos);
  EXPECT_EQ(exit_code(outcome.error()), 2);
}

// Older clients padded a box at its own edge, so their voxels must not be mixed with ours.
TEST(Job, APaddedBoxOfAnOlderClientIsNotResumed) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  options.padding = Padding::reflect;
  options.bbox = "1:8,:,:";
  ASSERT_FALSE(run_infer(options, {}));
  const FileName output{options.output, ""};
  ResumeState state = **read_resume(output);
  const ResumeState ours = state;
  state.job.padding = "reflect";
  ASSERT_TRUE(write_resume(output, state));
  const FakeDaemon daemon;
  options.server = daemon.address();
  options.resume = true;
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("an older znni began it, which padded at the edge of the box; start over with "
                                         "--overwrite"),
            std::string::npos)
      << outcome.error().message;
  EXPECT_EQ(exit_code(outcome.error()), 2);
  options.dtype = VoxelType::f16;
  const auto another = run_infer(options, {});
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().message.find("older znni"), std::string::npos) << "it differs in more than its padding";
  options.dtype = VoxelType::f32;
  ASSERT_TRUE(write_resume(output, ours));
  ASSERT_TRUE(run_infer(options, {}));
  expect_middle(options.output, {{1, 0, 0}, {8, 6, 8}});
}

// For a whole volume the padding has not changed.
TEST(Job, AWholeVolumeOfAnOlderClientIsResumed) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  options.padding = Padding::reflect;
  ASSERT_FALSE(run_infer(options, {}));
  EXPECT_EQ((*read_resume({options.output, ""}))->job.padding, "reflect");
}

TEST(Job, InterruptedOutputIsNotThrownAwayUnasked) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  ASSERT_FALSE(run_infer(options, {}));
  const auto again = run_infer(options, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(exit_code(again.error()), 2);
  EXPECT_NE(again.error().message.find("--resume, or --overwrite"), std::string::npos) << again.error().message;
  const FakeDaemon daemon;
  options.server = daemon.address();
  options.overwrite = true;
  ASSERT_TRUE(run_infer(options, {}));
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

// A place where no daemon is yet.
class AbsentDaemon {
 public:
  explicit AbsentDaemon(std::string path) : path_(std::move(path)), socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path_.copy(name.sun_path, sizeof(name.sun_path) - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
  }
  // Waits for a client, turns it away and leaves the place to a daemon.
  void turn_one_away() const {
    close(accept(socket_, nullptr, nullptr));
    close(socket_);
    std::filesystem::remove(path_);
  }
  [[nodiscard]] std::string address() const { return "unix:" + path_; }

 private:
  std::string path_;
  int socket_;
};

// Leaves half of an output behind.
Options interrupted(const Scratch& scratch, const std::string& output) {
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, output);
  EXPECT_FALSE(run_infer(options, {}));
  options.resume = true;
  return options;
}

TEST(Job, ADaemonThatIsNotThereIsWaitedForToResume) {
  const Scratch scratch;
  Options options = interrupted(scratch, "out.npy");
  const AbsentDaemon absent(scratch.file("s"));
  options.server = absent.address();
  std::unique_ptr<FakeDaemon> daemon;
  std::jthread starter([&] {
    absent.turn_one_away();
    daemon = std::make_unique<FakeDaemon>(Behaviour::sound, Habits{}, absent.address());
  });
  testing::internal::CaptureStderr();
  const auto outcome = run_infer(options, {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("znni: trying again for (10:00|9:[0-9][0-9]): no answer from unix:.*\n"))
      << "once";
  starter.join();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->json.find("\"resumed_planes\":3"), std::string::npos) << outcome->json;
  expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

TEST(Job, AModelThatLoadsIsWaitedFor) {
  const Scratch scratch;
  Habits loading;
  loading.loading_questions = 3;
  for (const bool resumes : {false, true}) {
    const FakeDaemon daemon(Behaviour::sound, loading);
    Options options = options_for(daemon, scratch, resumes ? "resumed.npy" : "out.npy");
    options.wait_seconds = 0;
    const auto unasked = run_infer(options, {});
    ASSERT_FALSE(unasked) << "not with --wait 0";
    EXPECT_EQ(exit_code(unasked.error()), 1);
    EXPECT_THAT(unasked.error().message, testing::HasSubstr("is still loading: planning for 3 s"));
    options.wait_seconds = 600;
    options.resume = resumes;
    testing::internal::CaptureStderr();
    const auto outcome = run_infer(options, {});
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.find("znni: loading: planning for 3 s\n"), 0U) << told;
    EXPECT_EQ(told.find("loading"), told.rfind("loading")) << "once: " << told;
    ASSERT_TRUE(outcome) << "a supervisor's, too: " << outcome.error().message;
    expect_middle(options.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  }
}

TEST(Job, AWaitForAModelThatLoadsEndsWhenInterrupted) {
  const Scratch scratch;
  Habits loading;
  loading.loading_questions = 1000000;
  const FakeDaemon daemon(Behaviour::sound, loading);
  std::stop_source stop;
  stop.request_stop();
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), stop.get_token());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(exit_code(outcome.error()), 130);
}

TEST(Job, AWaitForTheDaemonHasAnEnd) {
  const Scratch scratch;
  Options options = interrupted(scratch, "out.npy");
  options.server = "unix:" + scratch.file("nobody");
  options.wait_seconds = 0.01;
  const auto late = run_infer(options, {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  const AbsentDaemon absent(scratch.file("s"));
  options.server = absent.address();
  options.wait_seconds = 600;
  std::stop_source stop;
  const std::jthread user([&] {
    absent.turn_one_away();
    stop.request_stop();
  });
  const auto stopped = run_infer(options, stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(exit_code(stopped.error()), 130);
  EXPECT_TRUE(read_resume(parse_file_name(options.output))->has_value()) << "what was computed stays";
}

TEST(Job, ACompleteOutputIsNotWaitedFor) {
  const Scratch scratch;
  const FakeDaemon daemon;
  Options options = options_for(daemon, scratch, "out.npy");
  ASSERT_TRUE(run_infer(options, {}));
  options.resume = true;
  options.server = "unix:" + scratch.file("nobody");
  const auto again = run_infer(options, {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, testing::HasSubstr("is there already, in full"));
  EXPECT_EQ(exit_code(again.error()), 2);
}

}  // namespace
}  // namespace znni::client
