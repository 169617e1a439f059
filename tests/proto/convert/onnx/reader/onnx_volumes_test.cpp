#include "proto/convert/onnx/reader/onnx_volumes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::Integers;
using test::OnnxModel;
using testing::HasSubstr;

void declare(OnnxModel& model, int axis, std::int64_t n) {
  auto& shape = *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(axis)->set_dim_value(n);
}

void add_pooling(OnnxModel& model, std::string_view in, std::string_view out) {
  onnx::NodeProto& pool = model.node("MaxPool", {std::string(in)}, {std::string(out)});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
}

// Adds a Resize of `from` to the extents of `to`, as PyTorch writes F.interpolate(size=x.shape[2:]).
void add_resize(OnnxModel& model, std::string_view from, std::string_view to, std::string_view out) {
  const std::string name(out);
  test::set_integer(model.node("Shape", {std::string(from)}, {name + ".others"}), "end", 2);
  test::set_integer(model.node("Shape", {std::string(to)}, {name + ".spatial"}), "start", 2);
  test::set_integer(model.node("Concat", {name + ".others", name + ".spatial"}, {name + ".sizes"}), "axis", 0);
  onnx::NodeProto& resize = model.node("Resize", {std::string(from), "", "", name + ".sizes"}, {name});
  test::set_text(resize, "coordinate_transformation_mode", "asymmetric");
  test::set_text(resize, "nearest_mode", "floor");
}

// Returns a U-Net of two poolings that pads, with upsampling to the extents of the skipped branches.
OnnxModel padded_unet() {
  OnnxModel model(1);
  test::set_integers(model.conv("in", "a", 1, 2, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  add_pooling(model, "a", "b");
  add_pooling(model, "b", "c");
  add_resize(model, "c", "b", "d");
  test::set_integer(model.node("Concat", {"b", "d"}, {"e"}), "axis", 1);
  add_resize(model, "e", "a", "f");
  test::set_integer(model.node("Concat", {"a", "f"}, {"out"}), "axis", 1);
  model.output("out");
  return model;
}

TEST(OnnxVolumes, ResizesToTheExtentsOfSkippedBranches) {
  const Network network = padded_unet().read().network;
  EXPECT_EQ(period(network), Vec3::cube(4));
  EXPECT_EQ(min_extent(network) - network.frame.begin - network.frame.end, Vec3::cube(4));
  int factors = 0;
  for (const Node& node : network.nodes) {
    const auto* up = std::get_if<Upsample>(&node.operation);
    if (up == nullptr) continue;
    EXPECT_EQ(up->factor, Vec3::cube(2));
    ++factors;
  }
  EXPECT_EQ(factors, 2);
}

TEST(OnnxVolumes, NetsOfFewerAxesHaveTheirsAlone) {
  OnnxModel model(1, 2);
  test::set_integers(model.conv("in", "a", 1, 2, {3, 3}), "pads", {1, 1, 1, 1});
  onnx::NodeProto& pool = model.node("MaxPool", {"a"}, {"b"});
  test::set_integers(pool, "kernel_shape", {2, 4});
  test::set_integers(pool, "strides", {2, 4});
  add_resize(model, "b", "a", "c");
  test::set_integer(model.node("Concat", {"a", "c"}, {"out"}), "axis", 1);
  const Network network = model.output("out").read().network;
  EXPECT_EQ(period(network), (Vec3{1, 2, 4}));
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("/c: upsample 2, nearest, factor 1x2x4")));
}

TEST(OnnxVolumes, DeclaredExtentsMakeTheSameNet) {
  OnnxModel declared = padded_unet();
  for (int axis = 2; axis < 5; ++axis) declare(declared, axis, 32);
  EXPECT_EQ(declared.read().network, padded_unet().read().network);
  OnnxModel one = padded_unet();
  declare(one, 3, 16);
  EXPECT_EQ(one.read().network, padded_unet().read().network);
}

// Adds (n_a - n_b) / 2 as the start and start + n_b as the end of a Slice of `a` along z: the middle, with `b`'s
// extent.
void add_middle(OnnxModel& model, std::string_view a, std::string_view b, std::string_view out) {
  const std::string name(out);
  const auto extent = [&](std::string_view of, const std::string& to) {
    onnx::NodeProto& shape = model.node("Shape", {std::string(of)}, {to});
    test::set_integer(shape, "start", 2);
    test::set_integer(shape, "end", 3);
  };
  extent(a, name + ".n_a");
  extent(b, name + ".n_b");
  model.integers(name + ".two", {2});
  model.integers(name + ".axis", {2});
  model.node("Sub", {name + ".n_a", name + ".n_b"}, {name + ".less"});
  model.node("Div", {name + ".less", name + ".two"}, {name + ".start"});
  model.node("Add", {name + ".start", name + ".n_b"}, {name + ".end"});
  model.node("Slice", {std::string(a), name + ".start", name + ".end", name + ".axis"}, {name});
}

// Returns a valid U-Net of one pooling whose skipped branch is cut to the middle. Kernels are long along z alone.
OnnxModel valid_unet() {
  OnnxModel model(1);
  model.conv("in", "a", 1, 1, {3, 1, 1});
  add_pooling(model, "a", "b");
  model.conv("b", "c", 1, 1, {3, 1, 1});
  model.tensor("scales", {5}, {1, 1, 2, 2, 2});
  onnx::NodeProto& up = model.node("Resize", {"c", "", "scales"}, {"d"});
  test::set_text(up, "coordinate_transformation_mode", "asymmetric");
  test::set_text(up, "nearest_mode", "floor");
  add_middle(model, "a", "d", "e");
  test::set_integer(model.node("Concat", {"e", "d"}, {"out"}), "axis", 1);
  model.output("out");
  return model;
}

// From 8 voxels a has 6, b 3, c 1, d 2: the middle of a is [2, 4).
TEST(OnnxVolumes, CropsToTheMiddleOfSkippedBranches) {
  const Network network = valid_unet().read().network;
  EXPECT_EQ(period(network), Vec3::cube(2));
  EXPECT_EQ(min_extent(network), (Vec3{8, 2, 2}));
  const std::vector<std::string> lines = describe(network);
  EXPECT_THAT(lines, testing::Contains(HasSubstr("crop 1, begin 2x0x0, end 2x0x0 <- /a")));
}

// The file says 9 voxels, of which a has 7, b 3 and d 2: the middle of a begins at 2. The pooling leaves its last plane
// unread, and so does the crop: nothing computes it.
TEST(OnnxVolumes, DeclaredExtentsHaveTheirOwnRemainder) {
  OnnxModel declared = valid_unet();
  declare(declared, 2, 9);
  const Network network = declared.read().network;
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("crop 1, begin 0x0x0, end 1x0x0 <- in")));
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("crop 1, begin 2x0x0, end 2x0x0 <- /a")));
  EXPECT_TRUE(check_volume(network, {9, 2, 2}));
  EXPECT_FALSE(check_volume(network, {10, 2, 2}));
}

// Along z volumes are odd, along y and x even.
TEST(OnnxVolumes, AxesMayHaveRemaindersOfTheirOwn) {
  OnnxModel model(1);
  model.conv("in", "first", 1, 1, {2, 1, 1});
  add_pooling(model, "first", "b");
  add_resize(model, "b", "first", "d");
  test::set_integer(model.node("Concat", {"first", "d"}, {"out"}), "axis", 1);
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("its sizes are no multiple of the extent along axis"));
  OnnxModel cut(1);
  cut.conv("in", "first", 1, 1, {2, 1, 1});
  add_pooling(cut, "first", "b");
  cut.tensor("scales", {5}, {1, 1, 2, 2, 2});
  onnx::NodeProto& up = cut.node("Resize", {"b", "", "scales"}, {"d"});
  test::set_text(up, "coordinate_transformation_mode", "asymmetric");
  test::set_text(up, "nearest_mode", "floor");
  add_middle(cut, "first", "d", "e");
  test::set_integer(cut.node("Concat", {"e", "d"}, {"out"}), "axis", 1);
  const Network network = cut.output("out").read().network;
  EXPECT_EQ(min_extent(network), (Vec3{3, 2, 2}));
}

// A bound that is right for large volumes only would be wrong for the smallest.
TEST(OnnxVolumes, TheSmallestVolumeCountsAsWell) {
  OnnxModel model(1);
  test::set_integer(model.node("Shape", {"in"}, {"shape"}), "start", 2);
  model.integers("hundred", {100});
  model.node("Min", {"shape", "hundred"}, {"least"});
  model.integers("axes", {2, 3, 4});
  model.integers("zero", {0, 0, 0});
  model.node("Slice", {"in", "zero", "least", "axes"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("node '/out' (Slice): keeps [0, 100) of axis 2"));
  OnnxModel crop(1);
  crop.node("Shape", {"in"}, {"shape"});
  crop.integer("sixty", 60);
  crop.integer("at", 2);
  crop.node("Gather", {"shape", "at"}, {"n"});
  crop.node("Less", {"n", "sixty"}, {"small"});
  crop.integers("one", {1});
  crop.integers("two", {2});
  crop.node("Where", {"small", "one", "two"}, {"start"});
  crop.integers("end", {-1});
  crop.node("Slice", {"in", "start", "end", "two"}, {"out"});
  EXPECT_THAT(crop.output("out").refusal(), HasSubstr("node '/small' (Less): makes of a number that depends on"));
}

// The net takes volumes of 1 voxel, of which "a" has none; a framework computes those of 3 and more.
TEST(OnnxVolumes, VolumesThatLeaveAValueEmptyDoNotCount) {
  OnnxModel model(1);
  model.conv("in", "a", 1, 1, {3, 1, 1});
  add_middle(model, "in", "a", "b");
  model.node("Add", {"a", "b"}, {"c"});
  test::set_integers(model.conv("c", "out", 1, 1, {3, 1, 1}), "pads", {2, 0, 0, 2, 0, 0});
  const Network network = model.output("out").read().network;
  EXPECT_EQ(min_extent(network) - network.frame.begin - network.frame.end, Vec3::cube(1));
  EXPECT_THAT(describe(network), testing::Contains(HasSubstr("/c: add 1 <- /a, /b")));
}

TEST(OnnxVolumes, RefusalsThatNoVolumeChangesComeAtOnce) {
  OnnxModel model = padded_unet();
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("Einsum");
  EXPECT_THAT(model.refusal(), HasSubstr("node '/a' (Einsum): operator is not supported"));
  int reads = 0;
  const Result<OnnxGraph> graph = make_onnx_graph(padded_unet().proto);
  OnnxModel valid = valid_unet();
  const Result<OnnxGraph> nodes = make_onnx_graph(valid.proto);
  const OnnxReading reading = {[&] { return OnnxBuilder(*nodes, 3, 1, 100); },
                               [&](OnnxBuilder&, Blockers& all) -> Result<void> {
                                 all.count = ++reads;
                                 return Error{ErrorCode::unsupported, "never"};
                               }};
  Blockers all;
  EXPECT_EQ(find_volumes(reading, all).error().message, "never");
  EXPECT_EQ(all.count, 1);
  EXPECT_EQ(reads, 1);
}

// Volumes of even extents are refused by the Resize, too.
TEST(OnnxVolumes, BlockersAreThoseOfTheVolumesThatHaveTheFewest) {
  OnnxModel model(1);
  for (const char* name : {"gamma", "beta"}) model.tensor(name, {1});
  model.node("RMSNormalization", {"in", "gamma", "beta"}, {"normal"});
  model.conv("normal", "a", 1, 2, {2, 2, 2});
  add_pooling(model, "a", "b");
  add_resize(model, "b", "a", "out");
  const Blockers blockers = model.output("out").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].what, "RMSNorm");
  EXPECT_EQ(blockers.count, 1);
  EXPECT_THAT(model.refusal(), HasSubstr("node '/normal' (RMSNormalization): operator is not supported"));
  model.proto.mutable_graph()->mutable_node(0)->set_op_type("Relu");
  model.proto.mutable_graph()->mutable_node(0)->mutable_input()->DeleteSubrange(1, 2);
  EXPECT_EQ(model.refusal(), "");
}

TEST(OnnxVolumes, ANetWhoseBranchesNeverMeetIsRefusedAsAWhole) {
  OnnxModel model = padded_unet();
  model.node("Shape", {"out"}, {"shape"});
  model.node("Resize", {"out", "", "", "shape"}, {"same"});
  test::set_integer(model.node("Concat", {"in", "same", "b"}, {"all"}), "axis", 1);
  model.proto.mutable_graph()->clear_output();
  const Blockers blockers = model.output("all").blockers();
  ASSERT_EQ(blockers.kinds.size(), 1U);
  EXPECT_EQ(blockers.kinds[0].what, "the network as a whole");
  EXPECT_EQ(blockers.count, 1);
  EXPECT_THAT(model.refusal(), HasSubstr(blockers.kinds[0].reason));
}

TEST(OnnxVolumes, ANetThatNoVolumeSuitsIsNotReadForAllRemainders) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"out"});
  const Result<OnnxGraph> graph = make_onnx_graph(model.output("out").proto);
  ASSERT_TRUE(graph);
  for (const bool depends_before : {false, true}) {
    int reads = 0;
    const auto note = [](OnnxBuilder& builder) {
      return builder.known().set("n", {KnownKind::integer, {}, {{{20, {4, 0, 0}}, 0}}});
    };
    const OnnxReading reading = {[&] { return OnnxBuilder(*graph, 3, 1, 100); },
                                 [&](OnnxBuilder& builder, Blockers&) -> Result<void> {
                                   ++reads;
                                   if (!depends_before) builder.refuse(*graph->nodes[0], "in");
                                   const Result<void> noted = note(builder);
                                   EXPECT_TRUE(noted);
                                   if (depends_before) builder.refuse(*graph->nodes[0], "in");
                                   return Error{ErrorCode::unsupported, "never"};
                                 }};
    Blockers all;
    EXPECT_FALSE(find_volumes(reading, all));
    EXPECT_EQ(reads, depends_before ? 64 : 16);
  }
}

TEST(OnnxVolumes, OthersThanTheNetWasReadForAreRefused) {
  const Network network = padded_unet().read().network;
  EXPECT_TRUE(check_covered(network, {Vec3::cube(4), Vec3::cube(4)}));
  EXPECT_TRUE(check_covered(network, {Vec3::cube(32), {}}));
  EXPECT_TRUE(check_covered(network, {Vec3::cube(8), Vec3::cube(4)}));
  EXPECT_FALSE(check_covered(network, {Vec3::cube(6), Vec3::cube(4)}));
  EXPECT_FALSE(check_covered(network, {{}, Vec3::cube(4)}));
  EXPECT_FALSE(check_covered(network, {Vec3::cube(4), Vec3::cube(8)}));
  EXPECT_THAT(check_covered(network, {Vec3::cube(33), {}}).error().message,
              HasSubstr("of volumes of 33 voxels along z, and takes others: 4 and steps of 4"));
  const Network dense = test::rich_model().read().network;
  const Vec3 fov = reaches(dense).back().fov;
  const Vec3 step = reaches(dense).back().stride;
  ASSERT_GT(step.x, 1);
  EXPECT_TRUE(check_covered(dense, {fov + Vec3{0, 0, 1}, {}}));
  EXPECT_FALSE(check_covered(dense, {fov - Vec3{0, 0, 1}, {}}));
  EXPECT_FALSE(check_covered(dense, {fov + Vec3{0, 0, 1}, step}));
}

}  // namespace
}  // namespace znni
