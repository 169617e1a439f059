#include "proto/convert/onnx/reader/onnx_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/convert/onnx/reader/onnx_operators.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxReader, ResidualAndConcatenation) {
  const OnnxModel model = test::rich_model();
  const Result<LoadedNetwork> loaded = read_onnx_bytes(model.bytes());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->network.name, "net");
  EXPECT_EQ(loaded->network.input_name, "in");
  EXPECT_EQ(loaded->network.output_name, "out");
  EXPECT_THAT(describe(loaded->network),
              ElementsAre("/a: conv 2 -> 3, k 2x3x3 <- in", "/n: scale and shift 3 <- /a",
                          "/r: activation 3, relu <- /n", "/p: max pool 3, window 2x2x2, stride 2x2x2 <- /r",
                          "/b: conv 3 -> 3, k 1x1x1 <- /p", "/s: add 3 <- /b, /p", "/c: concat <- /s, /p, /b",
                          "/d: conv 9 -> 1, k 1x1x1 <- /c", "/out: activation 1, sigmoid <- /d"));
  EXPECT_EQ(reaches(loaded->network).back().fov, (Vec3{3, 4, 4}));
  EXPECT_TRUE(check_weights(loaded->network, loaded->weights));
}

TEST(OnnxReader, SeveralOutputsAreChannelsOfOne) {
  OnnxModel model(2);
  model.conv("in", "a", 2, 3, {3, 3, 3});
  model.conv("a", "x", 3, 2, {1, 1, 1});
  model.conv("a", "y", 3, 4, {1, 1, 1});
  model.output("y").output("x");
  const LoadedNetwork loaded = model.read();
  EXPECT_EQ(loaded.network.output_name, "y,x");
  EXPECT_EQ(loaded.network.outputs, (std::vector<NamedTensor>{{"y", 4}, {"x", 2}}));
  EXPECT_EQ(describe(loaded.network).back(), "outputs: concat <- /y, /x");
  const LoadedNetwork fused = fold_and_fuse(loaded);
  EXPECT_EQ(fused.network.outputs, loaded.network.outputs);
  EXPECT_TRUE(check(fused.network));
  const Result<LoadedNetwork> one = read_onnx_bytes(model.bytes(), "", {saturated, {"x"}});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->network.output_name, "x");
  EXPECT_EQ(one->network.outputs, std::vector<NamedTensor>());
  EXPECT_EQ(one->network.nodes.size(), 2U);
}

// With the input itself, and one of them read by the other.
TEST(OnnxReader, OutputsMayDependOnEachOther) {
  OnnxModel model(2);
  model.node("Relu", {"in"}, {"a"});
  model.node("Tanh", {"a"}, {"b"});
  model.output("b").output("a").output("in");
  EXPECT_EQ(model.read().network.outputs, (std::vector<NamedTensor>{{"b", 2}, {"a", 2}, {"in", 2}}));
  EXPECT_EQ(describe(model.read().network).back(), "outputs: concat <- /b, /a, in");
}

// A branch may write a tensor of the name that the joined outputs have.
TEST(OnnxReader, ABranchThatTakesTheNameOfTheJoinedOutputsIsRefused) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"a"});
  model.node("Tanh", {"in"}, {"b"});
  onnx::TensorProto& yes = *model.proto.mutable_graph()->add_initializer();
  yes.set_name("yes");
  yes.set_data_type(onnx::TensorProto::BOOL);
  yes.add_int32_data(1);
  onnx::NodeProto& choice = model.node("If", {"yes"}, {"c"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& branch = *choice.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *branch.mutable_g()->add_node();
    inner.set_op_type("Elu");
    inner.add_input("in");
    inner.add_output("a,b,c");
    branch.mutable_g()->add_output()->set_name("a,b,c");
  }
  EXPECT_THAT(model.output("a").output("b").output("c").refusal(), HasSubstr("tensor 'a,b,c' is written twice"));
}

// Advice to choose is for outputs that do not meet, and for nothing else.
TEST(OnnxReader, OutputsAreToBeChosenOnlyIfTheyDoNotMeet) {
  constexpr const char* advice = "choose by --outputs";
  const auto branches = [](const char* name) {
    OnnxModel model(2);
    model.conv("in", "a", 2, 3, {1, 1, 1});
    model.conv("in", "b", 2, 3, {2, 1, 1});
    if (name != nullptr) model.proto.mutable_graph()->mutable_node(0)->set_name(name);
    return model;
  };
  EXPECT_THAT(branches(nullptr).output("a").output("b").refusal(), HasSubstr(advice));
  EXPECT_THAT(branches("outputs").output("a").output("b").refusal(), HasSubstr(advice)) << "the node has another name";
  OnnxModel inner = branches(nullptr);
  inner.node("Add", {"a", "b"}, {"c"}).set_name("outputs");
  EXPECT_THAT(inner.output("c").output("in").refusal(), testing::Not(HasSubstr(advice)));
  OnnxModel coarse(1);
  onnx::NodeProto& pool = coarse.node("AveragePool", {"in"}, {"a"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  test::set_integers(coarse.conv("a", "b", 1, 1, {3, 3, 3}), "pads", {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(coarse.output("a").output("b").refusal(), "") << "both are coarser than the input";
}

// A net that computes with extents is looked at for volumes of several; its outputs differ for all of them.
TEST(OnnxReader, OutputsOfANetThatReadsExtentsAreToBeChosen) {
  OnnxModel model(1);
  onnx::NodeProto& pool = model.node("AveragePool", {"in"}, {"low"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  model.node("Shape", {"in"}, {"sizes"});
  test::set_text(model.node("Resize", {"low", "", "", "sizes"}, {"up"}), "mode", "nearest");
  onnx::NodeProto& resize = *model.proto.mutable_graph()->mutable_node(2);
  test::set_text(resize, "coordinate_transformation_mode", "asymmetric");
  test::set_text(resize, "nearest_mode", "floor");
  EXPECT_EQ(OnnxModel(model).output("up").refusal(), "");
  const Network both = OnnxModel(model).output("low").output("up").read().network;
  EXPECT_EQ(both.outputs, (std::vector<NamedTensor>{{"low", 1, Vec3::cube(2)}, {"up", 1}}));
  model.conv("low", "less", 1, 1, {2, 1, 1});
  EXPECT_THAT(model.output("up").output("less").refusal(), HasSubstr("choose by --outputs"));
}

TEST(OnnxReader, AnOutputThatIsNoValueIsNamed) {
  OnnxModel model(1);
  model.node("Relu", {"in"}, {"a"});
  test::set_integers(model.node("Transpose", {"a"}, {"turned"}), "perm", {0, 2, 1, 3, 4});
  EXPECT_THAT(model.output("a").output("turned").refusal(), HasSubstr("the output 'turned' is transposed or reshaped"));
}

TEST(OnnxReader, FoldedAndFusedItStillStands) {
  const LoadedNetwork fused = fold_and_fuse(test::rich_model().read());
  EXPECT_TRUE(check(fused.network));
  EXPECT_TRUE(check_weights(fused.network, fused.weights));
  EXPECT_EQ(fused.network.nodes.size(), 6U);
  EXPECT_EQ(std::get<Convolution>(fused.network.nodes[0].operation).activation.kind, ActivationKind::relu);
}

// Exporters write such nodes for a block whose shortcut is a convolution, with normalisations.
TEST(OnnxReader, AResidualBlockBecomesTwoConvolutions) {
  OnnxModel model(2);
  const auto normalised = [&](const std::string& in, const std::string& out, std::int64_t f) {
    for (const char* part : {".scale", ".shift", ".mean", ".variance"}) {
      model.tensor(out + part, {f}, std::vector<float>(static_cast<std::size_t>(f), 0.5F));
    }
    model.node("BatchNormalization", {in, out + ".scale", out + ".shift", out + ".mean", out + ".variance"}, {out});
  };
  model.conv("in", "a", 2, 3, {3, 3, 3});
  normalised("a", "an", 3);
  model.node("Relu", {"an"}, {"ar"});
  model.conv("ar", "b", 3, 4, {1, 1, 1});
  normalised("b", "bn", 4);
  model.conv("in", "short", 2, 4, {3, 3, 3});
  model.node("Add", {"short", "bn"}, {"sum"});
  model.node("Relu", {"sum"}, {"out"});
  const LoadedNetwork fused = fold_and_fuse(model.output("out").read());
  EXPECT_THAT(describe(fused.network),
              ElementsAre("/a: conv 2 -> 3, k 3x3x3, relu <- in", "/b: conv 3 -> 4, k 1x1x1 <- /a",
                          "/short: conv 2 -> 4, k 3x3x3, residual, relu <- in, /b"));
  EXPECT_TRUE(check(fused.network));
  EXPECT_TRUE(check_weights(fused.network, fused.weights));
}

// Returns the input's declaration, for the test to change.
onnx::TypeProto::Tensor* input_type(OnnxModel& model) {
  return model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
}

TEST(OnnxReader, ChannelsComeFromTheFirstConvolutionWhereTheInputDoesNotSay) {
  OnnxModel named(5);
  named.conv("in", "out", 5, 1, {1, 1, 1});
  input_type(named)->mutable_shape()->mutable_dim(1)->set_dim_param("C");
  EXPECT_EQ(named.output("out").read().network.f_in, 5);
  OnnxModel shapeless(5, 2);
  shapeless.conv("in", "out", 5, 1, {1, 1});
  input_type(shapeless)->clear_shape();
  const LoadedNetwork loaded = shapeless.output("out").read();
  EXPECT_EQ(loaded.network.f_in, 5);
  EXPECT_EQ(loaded.network.spatial_rank, 2);
}

TEST(OnnxReader, InputsThatSayTooLittleOrTooMuch) {
  OnnxModel unknown;
  unknown.node("Relu", {"in"}, {"out"});
  input_type(unknown)->mutable_shape()->mutable_dim(1)->set_dim_param("C");
  EXPECT_THAT(unknown.output("out").refusal(), HasSubstr("input 'in': does not say how many channels it has"));
  for (const std::int64_t channels : {std::int64_t{-1}, std::int64_t{1} << 62}) {
    OnnxModel model(channels);
    model.node("Relu", {"in"}, {"out"});
    EXPECT_NE(model.output("out").refusal(), "") << channels;
  }
  for (const int axes : {0, 4}) {
    OnnxModel model(1, axes);
    model.node("Relu", {"in"}, {"out"});
    EXPECT_THAT(model.output("out").refusal(), HasSubstr("axes; [N, C, Z, Y, X] and fewer spatial axes are supported"));
  }
  OnnxModel bytes;
  bytes.node("Relu", {"in"}, {"out"});
  input_type(bytes)->set_elem_type(onnx::TensorProto::UINT8);
  EXPECT_THAT(bytes.output("out").refusal(), HasSubstr("input 'in': has elements of type number 2; FLOAT is right"));
  OnnxModel sequence;
  sequence.node("Relu", {"in"}, {"out"});
  sequence.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(sequence.output("out").refusal(), HasSubstr("is not a tensor"));
}

// Returns a convolution of 3 and a normalisation, of an input that declares `extents`; 0 leaves an axis open.
OnnxModel normalised(const test::Integers& extents) {
  OnnxModel model(1, static_cast<int>(extents.size()));
  model.conv("in", "a", 1, 2, test::Integers(extents.size(), 3));
  model.tensor("scale", {2}, {1, 2});
  model.tensor("bias", {2}, {0, 1});
  model.node("InstanceNormalization", {"a", "scale", "bias"}, {"out"});
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] > 0)
      input_type(model)->mutable_shape()->mutable_dim(static_cast<int>(i) + 2)->set_dim_value(extents[i]);
  }
  return model.output("out");
}

TEST(OnnxReader, ANetThatNormalisesHasTheWindowThatItsFileDeclares) {
  EXPECT_EQ(normalised({8, 12, 16}).read().network.window, (Vec3{8, 12, 16}));
  EXPECT_EQ(normalised({12, 16}).read().network.window, (Vec3{1, 12, 16}));
  EXPECT_EQ(normalised({0, 0, 0}).read().network.window, Vec3{}) << "open";
  EXPECT_EQ(normalised({0, 12, 16}).read().network.window, Vec3{}) << "open along z";
  EXPECT_THAT(normalised({2, 12, 16}).refusal(), HasSubstr("2x12x16"));
  OnnxModel dense;
  dense.conv("in", "out", 1, 2, {3, 3, 3});
  for (const int axis : {2, 3, 4}) input_type(dense)->mutable_shape()->mutable_dim(axis)->set_dim_value(16);
  EXPECT_EQ(dense.output("out").read().network.window, Vec3{}) << "takes other extents, too";
}

TEST(OnnxReader, ANetThatDoesNothingIsRefused) {
  OnnxModel model;
  model.node("Identity", {"in"}, {"out"});
  EXPECT_THAT(model.output("out").refusal(), HasSubstr("no nodes"));
}

TEST(OnnxReader, NodesOfOneNameAreNumbered) {
  OnnxModel model;
  model.node("Relu", {"in"}, {"a"}).set_name("same");
  model.node("Tanh", {"a"}, {"b"}).set_name("same #2");
  model.node("Relu", {"b"}, {"same"}).set_name("");
  model.node("Tanh", {"same"}, {"c"}).set_name("in");
  model.node("Relu", {"c"}, {"d"}).set_name("same");
  std::vector<std::string> names;
  for (const Node& node : model.output("d").read().network.nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("same", "same #2", "same #3", "in #2", "same #4"));
}

// The walk that refuses is the walk that lists.
TEST(OnnxReader, BlockersAreNoneIfAndOnlyIfAModelIsRead) {
  std::vector<OnnxModel> models = {test::rich_model()};
  for (const OnnxOperator& row : onnx_operators()) {
    for (const int inputs : {row.min_inputs, std::min(row.max_inputs, 5)}) {
      OnnxModel model;
      model.node("Relu", {"in"}, {"r"});
      model.node(row.name, test::Names(static_cast<std::size_t>(inputs), "r"), {"out"});
      models.push_back(model.output("out"));
    }
  }
  int read = 0;
  for (const OnnxModel& model : models) {
    const Blockers blockers = model.blockers();
    EXPECT_EQ(model.refusal().empty(), blockers == Blockers()) << model.refusal();
    EXPECT_EQ(blockers.kinds.empty(), blockers.count == 0);
    if (model.refusal().empty()) ++read;
  }
  EXPECT_GT(read, 10);
  EXPECT_GT(static_cast<int>(models.size()) - read, 10);
}

TEST(OnnxReader, RefusalsBeforeTheNodesAreBlockersUnlessTheFileIsCorrupt) {
  OnnxModel old(1, 3, 6);
  old.node("Relu", {"in"}, {"out"});
  const Blockers blockers = old.output("out").blockers();
  EXPECT_EQ(blockers.count, 1);
  EXPECT_FALSE(blockers.is_whole);
  EXPECT_THAT(blockers.kinds.front().reason, HasSubstr("operator set 6"));
  OnnxModel cycle;
  cycle.node("Add", {"in", "out"}, {"out"});
  EXPECT_THAT(cycle.output("out").refusal(), HasSubstr("cycle"));
  EXPECT_EQ(cycle.blockers(), Blockers());
}

TEST(OnnxReader, BytesThatAreNoModel) {
  for (const std::string& bytes : {std::string(), std::string("not a model"), std::string(100, '\xff')}) {
    const Result<LoadedNetwork> loaded = read_onnx_bytes(bytes);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::corrupt_file);
    EXPECT_THAT(loaded.error().message, HasSubstr("not an ONNX model"));
  }
}

TEST(OnnxReader, EveryTruncationIsAnErrorOrAModel) {
  const std::string bytes = test::rich_model().bytes();
  int refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Result<LoadedNetwork> loaded = read_onnx_bytes(std::string_view(bytes).substr(0, length));
    if (!loaded) ++refused;
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 60);  // bytes after the graph may be cut
}

// Expects an error of one line or a sound network, as every mutation must give.
void expect_sound(std::string_view bytes, const std::string& which) {
  const Result<LoadedNetwork> loaded = read_onnx_bytes(bytes);
  if (loaded) {
    EXPECT_TRUE(check(loaded->network)) << which;
    EXPECT_TRUE(check_weights(loaded->network, loaded->weights)) << which;
    EXPECT_TRUE(check(fold_and_fuse(*loaded).network)) << which;
  } else {
    EXPECT_FALSE(loaded.error().message.empty()) << which;
    EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos) << which;
  }
}

TEST(OnnxReader, ChangedBytesNeverCrash) {
  const std::string good = test::rich_model().bytes();
  const std::uint64_t seed = test::base_seed();
  for (int i = 0; i < 4000; ++i) {
    test::Random random(seed + static_cast<std::uint64_t>(i));
    std::string bytes = good;
    for (std::int64_t flips = random.integer(1, 4); flips > 0; --flips) {
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(random.integer(0, 255));
    }
    expect_sound(bytes, "seed " + std::to_string(seed) + ", case " + std::to_string(i));
  }
}

TEST(OnnxReader, MovedAndRepeatedBytesNeverCrash) {
  const std::string good = test::rich_model().bytes();
  const auto size = static_cast<std::int64_t>(good.size());
  const std::uint64_t seed = test::base_seed();
  for (int i = 0; i < 2000; ++i) {
    test::Random random(seed + 1000000 + static_cast<std::uint64_t>(i));
    const auto from = static_cast<std::size_t>(random.integer(0, size - 1));
    const auto length = static_cast<std::size_t>(random.integer(1, 64));
    std::string bytes = good;
    if (random.chance(0.5)) {
      bytes.erase(from, length);
    } else {
      bytes.insert(static_cast<std::size_t>(random.integer(0, size)), good.substr(from, length));
    }
    expect_sound(bytes, "seed " + std::to_string(seed) + ", case " + std::to_string(i));
  }
}

// Sizes and extents are hostile rather than random.
TEST(OnnxReader, HostileNumbersNeverCrash) {
  const std::int64_t numbers[] = {
      std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 2, 1LL << 20, 1LL << 31, 1LL << 62,
      std::numeric_limits<std::int64_t>::max()};
  const OnnxModel good = test::rich_model();
  for (const std::int64_t number : numbers) {
    for (int t = 0; t < good.proto.graph().initializer_size(); ++t) {
      for (int d = 0; d < good.proto.graph().initializer(t).dims_size(); ++d) {
        OnnxModel model = good;
        model.proto.mutable_graph()->mutable_initializer(t)->set_dims(d, number);
        expect_sound(model.bytes(), "initializer " + std::to_string(t) + ", " + std::to_string(number));
      }
    }
    for (int n = 0; n < good.proto.graph().node_size(); ++n) {
      for (int a = 0; a < good.proto.graph().node(n).attribute_size(); ++a) {
        OnnxModel model = good;
        onnx::AttributeProto* attribute = model.proto.mutable_graph()->mutable_node(n)->mutable_attribute(a);
        attribute->set_i(number);
        for (std::int64_t& value : *attribute->mutable_ints()) value = number;
        expect_sound(model.bytes(), "node " + std::to_string(n) + ", " + std::to_string(number));
      }
    }
  }
}

TEST(OnnxReader, ManyLargePoolingsDoNotOverflow) {
  OnnxModel model;
  std::string before = "in";
  for (int i = 0; i < 8; ++i) {
    const std::string name = test::numbered("p", i);
    onnx::NodeProto& pool = model.node("MaxPool", {before}, {name});
    test::set_integers(pool, "kernel_shape", {1 << 20, 1 << 20, 1 << 20});
    test::set_integers(pool, "strides", {1 << 20, 1 << 20, 1 << 20});
    before = name;
  }
  EXPECT_NE(model.output(before).refusal(), "");
}

}  // namespace
}  // namespace znni
