#include "client/cli/infer.hpp"

#include <limits>

#include "client/cli/parts.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"
#include "tests/client/numbers.hpp"

namespace znni::client {
namespace {

TEST(Infer, ValidOutputIsSmallerThanTheInput) {
  const FakeDaemon daemon;
  const Scratch scratch;
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_middle(scratch.file("out.npy"), {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
}

TEST(Infer, PaddedOutputCoversTheInput) {
  const FakeDaemon daemon;
  const Scratch scratch;
  for (const Padding padding : {Padding::zero, Padding::reflect, Padding::edge}) {
    Options options = options_for(daemon, scratch, "out_" + to_string(padding) + ".h5:/prob");
    options.padding = padding;
    const auto outcome = run_infer(options, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_middle(options.output, {{0, 0, 0}, input_facts.n});
  }
}

// Extents of parts that divide an output of 7x4x6 voxels, or of 9x6x8, into 2 x 2. All but the first are smaller.
constexpr Vec3 part{1, 3, 4};
constexpr Vec3 padded_part{1, 4, 5};

TEST(Infer, InPartsTheOutputIsTheSame) {
  const Scratch scratch;
  for (const char* name : {"out.npy", "out.h5:/prob", "out.tif"}) {
    const FakeDaemon daemon(Behaviour::sound, {part});
    const auto outcome = run_infer(options_for(daemon, scratch, name), {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(daemon.streams(), 4);
    EXPECT_NE(outcome->json.find("\"parts\":4"), std::string::npos) << outcome->json;
    EXPECT_NE(outcome->json.find("\"seconds\":2.0"), std::string::npos) << "of all four: " << outcome->json;
    expect_middle(scratch.file(name), {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  }
  const FakeDaemon compressing(Behaviour::sound, {part});
  Options compressed = options_for(compressing, scratch, "compressed.h5:/prob");
  compressed.compress = true;
  ASSERT_TRUE(run_infer(compressed, {}));
  EXPECT_EQ(compressing.streams(), 4);
  expect_middle(compressed.output, {{1, 1, 1}, input_facts.n - Vec3::cube(1)});
  for (const Padding padding : {Padding::zero, Padding::reflect}) {
    const FakeDaemon daemon(Behaviour::large_chunks, {padded_part});
    Options options = options_for(daemon, scratch, "out_" + to_string(padding) + ".npy");
    options.padding = padding;
    ASSERT_TRUE(run_infer(options, {}));
    EXPECT_EQ(daemon.streams(), 4);
    expect_middle(options.output, {{0, 0, 0}, input_facts.n});
  }
}

TEST(Infer, OnlyHdf5IsCompressed) {
  const FakeDaemon daemon;
  const Scratch scratch;
  for (const char* name : {"out.npy", "out.tif"}) {
    Options options = options_for(daemon, scratch, name);
    options.compress = true;
    const auto outcome = run_infer(options, {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(exit_code(outcome.error()), 2);
    EXPECT_EQ(outcome.error().message,
              "--compress: " + options.output + ": only HDF5 is compressed: write FILE.h5:/NAME, or leave it out");
    EXPECT_FALSE(std::filesystem::exists(options.output));
  }
}

TEST(Infer, BoxOfTheInput) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.tif");
  options.bbox = "2:7,1:,:5";
  ASSERT_TRUE(run_infer(options, {}));
  expect_middle(options.output, {{3, 2, 1}, {6, 5, 4}});
}

std::vector<float> voxels_of(const std::string& path) {
  Result<VolumeSource> source = open_source(parse_file_name(path));
  EXPECT_TRUE(source);
  std::vector<float> found(static_cast<std::size_t>(voxels(source->facts.n)));
  const auto plane = static_cast<std::size_t>(source->facts.n.y * source->facts.n.x);
  for (std::int64_t z = 0; z < source->facts.n.z; ++z) {
    const auto out = std::span(found).subspan(static_cast<std::size_t>(z) * plane, plane);
    EXPECT_TRUE(source->read_plane(z, {{0, 0, 0}, source->facts.n}, std::as_writable_bytes(out)));
  }
  return found;
}

// Real voxels are read around a box, in one stream or in parts, for any position of the output voxel in its window.
TEST(Infer, APaddedBoxEqualsTheCropOfTheWholeRun) {
  const Scratch scratch;
  for (const Vec3 voxel : {Vec3{0, 0, 0}, Vec3{2, 2, 2}}) {
    const FakeDaemon daemon(Behaviour::sound, {{1, 2, 3}, "model", 0, 0, grpc::StatusCode::OK, true, voxel});
    Options options = options_for(daemon, scratch, "whole.npy");
    options.overwrite = true;
    for (const Padding padding : {Padding::zero, Padding::reflect}) {
      options.padding = padding;
      options.output = scratch.file("whole.npy");
      options.bbox = "";
      ASSERT_TRUE(run_infer(options, {}));
      const std::vector<float> whole = voxels_of(options.output);
      options.output = scratch.file("box.npy");
      options.bbox = "4:6,2:6,0:3";
      ASSERT_TRUE(run_infer(options, {}));
      std::vector<float> crop;
      for (std::int64_t row = 0; row < 2 * 4; ++row) {
        const auto begin = whole.begin() + ((4 + row / 4) * input_facts.n.y + 2 + row % 4) * input_facts.n.x;
        crop.insert(crop.end(), begin, begin + 3);
      }
      EXPECT_EQ(voxels_of(options.output), crop) << to_string(padding);
    }
  }
}

TEST(Infer, ScaleIsAppliedHere) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  options.scale = 0.0F;
  options.offset = 2.5F;
  ASSERT_TRUE(run_infer(options, {}));
  Result<VolumeSource> source = open_source({options.output, ""});
  ASSERT_TRUE(source);
  std::vector<float> plane(4 * 6);
  ASSERT_TRUE(source->read_plane(0, {{0, 0, 0}, source->facts.n}, std::as_writable_bytes(std::span(plane))));
  EXPECT_EQ(plane, std::vector<float>(plane.size(), 2.5F));
}

TEST(Infer, NumbersOfOtherTypesAreSentAsFloat32) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  for (const VoxelType type : {VoxelType::i8, VoxelType::i16, VoxelType::f64}) {
    const VolumeFacts facts{1, input_facts.n, type};
    options.input = scratch.file(numpy_name(type) + ".npy");
    options.overwrite = true;
    write_volume({options.input, ""}, facts);
    const auto outcome = run_infer(options, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
    const std::vector<float> found = voxels_of(options.output);
    const std::vector<std::byte> middle = test_window(facts, 3, {{0, 1, 1}, facts.n - Vec3::cube(1)});
    const auto width = static_cast<std::size_t>(voxel_bytes(type));
    for (std::size_t i = 0; i < 4 * 6; ++i) {
      EXPECT_EQ(found[2 * 4 * 6 + i], static_cast<float>(number_at(middle.data() + i * width, type)));
    }
  }
}

TEST(Infer, WholeNumbersThatWouldBecomeOthersNeedAScale) {
  const FakeDaemon daemon;
  const Scratch scratch;
  Options options = options_for(daemon, scratch, "out.npy");
  options.input = scratch.file("ids.npy");
  write_volume({options.input, ""}, {1, input_facts.n, VoxelType::u32});  // its bytes are up to 62
  const auto refused = run_infer(options, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(exit_code(refused.error()), 2);
  EXPECT_TRUE(refused.error().message.starts_with(options.input + ": voxel ")) << refused.error().message;
  EXPECT_TRUE(refused.error().message.find(" whole number: save it as float32, or give --scale") != std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options.output));
  options.scale = 0x1p-20F;
  options.offset = 0.0F;
  ASSERT_TRUE(run_infer(options, {}));
}

TEST(Infer, RefusedJobLeavesNoFile) {
  const FakeDaemon daemon(Behaviour::refuses);
  const Scratch scratch;
  const Options options = options_for(daemon, scratch, "out.npy");
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("9 GiB"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_FALSE(std::filesystem::exists(options.output + ".partial"));
}

TEST(Infer, InterruptIsCancelledWithItsOwnExitCode) {
  const FakeDaemon daemon(Behaviour::never_answers);
  const Scratch scratch;
  std::stop_source stop;
  stop.request_stop();
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), stop.get_token());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(exit_code(outcome.error()), 130);
}

// Writes 8x8x8 float32 voxels, with one that is not finite.
void write_nonfinite(const std::string& path, float value, Vec3 at) {
  const VolumeFacts facts{1, Vec3::cube(8), VoxelType::f32};
  Result<VolumeTarget> target = open_target({path, ""}, facts, 0);
  ASSERT_TRUE(target);
  for (std::int64_t z = 0; z < 8; ++z) {
    std::vector<float> plane(64, 1.0F);
    if (z == at.z) plane[static_cast<std::size_t>(at.y * 8 + at.x)] = value;
    ASSERT_TRUE(target->write_plane(z, {{0, 0, 0}, facts.n}, std::as_bytes(std::span(plane))));
  }
  ASSERT_TRUE(target->finish());
}

TEST(Infer, ARefusedVoxelIsNamedByItsPositionInTheFile) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::refuses_nonfinite);
  Options options = options_for(daemon, scratch, "out.npy");
  options.input = scratch.file("nan.npy");
  options.padding = Padding::reflect;
  options.bbox = "3:7,2:,4:";
  write_nonfinite(options.input, std::numeric_limits<float>::quiet_NaN(), {5, 3, 6});
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "an input voxel is not finite; the first voxel of " + options.input +
                                         " that is not finite is at channel 0, z 5, y 3, x 6 (nan)");
  EXPECT_EQ(exit_code(outcome.error()), 2);
}

TEST(Infer, ReplacedVoxelsAreCountedInTheSummary) {
  const Scratch scratch;
  const FakeDaemon daemon;
  Options options = options_for(daemon, scratch, "out.npy");
  options.input = scratch.file("inf.npy");
  write_nonfinite(options.input, std::numeric_limits<float>::infinity(), {5, 3, 6});
  const auto outcome = run_infer(options, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->json.find("\"nonfinite_voxels\":1"), std::string::npos) << outcome->json;
  EXPECT_NE(outcome->json.find("\"channels\":1"), std::string::npos) << outcome->json;
  EXPECT_NE(outcome->summary.find("replaced 1 input voxels"), std::string::npos) << outcome->summary;
}

}  // namespace
}  // namespace znni::client
