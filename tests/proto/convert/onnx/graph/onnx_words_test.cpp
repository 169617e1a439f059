#include "proto/convert/onnx/graph/onnx_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using test::OnnxModel;

TEST(OnnxWords, OperatorsByTheirModulesNames) {
  EXPECT_EQ(words_of_operator("RMSNormalization").what, "RMSNorm");
  EXPECT_EQ(words_of_operator("RMSNormalization").advice, "train with BatchNorm, InstanceNorm or GroupNorm");
  EXPECT_TRUE(words_of_operator("RMSNormalization").keeps_form);
  EXPECT_EQ(words_of_operator("Mish").what, "Mish");
  EXPECT_EQ(words_of_operator("SequenceConstruct").what, words_of_operator("SequenceAt").what);
  EXPECT_EQ(words_of_operator("Einsum").what, "Einsum");
  EXPECT_EQ(words_of_operator("Einsum").advice, "");
  EXPECT_FALSE(words_of_operator("Einsum").keeps_form);
  EXPECT_EQ(words_of_operator("Bad\nname").what, "Bad?name");
}

// A model that an operator refuses, and what that is called. Each row of the table of words is here, so that it cannot
// lose the message that it is for.
struct Refused {
  std::string what;
  std::function<onnx::NodeProto&(OnnxModel&)> add;  // the node writes "out"
};

onnx::NodeProto& resize_by(OnnxModel& model, const std::vector<float>& scales) {
  model.tensor("scales", {5}, scales);
  onnx::NodeProto& node = model.node("Resize", {"in", "", "scales"}, {"out"});
  test::set_text(node, "coordinate_transformation_mode", "asymmetric");
  test::set_text(node, "nearest_mode", "floor");
  return node;
}

std::vector<Refused> refused_nodes() {
  const auto computed = [](OnnxModel& model, const test::Names& inputs, const char* operation) -> onnx::NodeProto& {
    model.node("Shape", {"in"}, {"extents"});
    model.node("NonZero", {"extents"}, {"shape"});
    return model.node(operation, inputs, {"out"});
  };
  const auto over_channels = [](OnnxModel& model, const char* operation) -> onnx::NodeProto& {
    onnx::NodeProto& node = model.node(operation, {"in"}, {"out"});
    test::set_integers(node, "axes", {1});
    return node;
  };
  return {
      {"mean over other axes than space (ReduceMean)",
       [=](OnnxModel& model) -> onnx::NodeProto& { return over_channels(model, "ReduceMean"); }},
      {"maximum over other axes than space (ReduceMax)",
       [=](OnnxModel& model) -> onnx::NodeProto& { return over_channels(model, "ReduceMax"); }},
      {"LayerNorm over space",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.tensor("scale", {1});
         return model.node("LayerNormalization", {"in", "scale"}, {"out"});
       }},
      {"logarithm", [](OnnxModel& model) -> onnx::NodeProto& { return model.node("Log", {"in"}, {"out"}); }},
      {"BatchNorm in training mode",
       [](OnnxModel& model) -> onnx::NodeProto& {
         onnx::TensorShapeProto& shape =
             *model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
         shape.mutable_dim(0)->set_dim_value(2);
         onnx::NodeProto& node = model.node("BatchNormalization", {"in", "in", "in", "in", "in"}, {"out"});
         test::set_integer(node, "training_mode", 1);
         return node;
       }},
      {"Clip by computed bounds",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.node("Relu", {"in"}, {"bound"});
         return model.node("Clip", {"in", "bound"}, {"out"});
       }},
      {"Dropout in training mode",
       [](OnnxModel& model) -> onnx::NodeProto& {
         return model.node("Dropout", {"in", "", "in"}, {"out"});
       }},
      {"GroupNorm by computed numbers",
       [](OnnxModel& model) -> onnx::NodeProto& {
         onnx::NodeProto& node = model.node("GroupNormalization", {"in", "in", "in"}, {"out"});
         test::set_integer(node, "num_groups", 1);
         return node;
       }},
      {"InstanceNorm by computed numbers",
       [](OnnxModel& model) -> onnx::NodeProto& {
         return model.node("InstanceNormalization", {"in", "in", "in"}, {"out"});
       }},
      {"Reshape to a computed shape",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         return computed(model, {"in", "shape"}, "Reshape");
       }},
      {"control flow (If, Loop, sequences)",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.node("Relu", {"in"}, {"voxels"});
         return model.node("If", {"voxels"}, {"out"});
       }},
      {"control flow (If, Loop, sequences)",
       [](OnnxModel& model) -> onnx::NodeProto& {
         return model.node("Loop", {"in", "", "in"}, {"out"});
       }},
      {"Pad by computed amounts",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         return computed(model, {"in", "shape"}, "Pad");
       }},
      {"Pad by computed amounts",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.node("Shape", {"in"}, {"extents"});
         return model.node("Pad", {"in", "extents"}, {"out"});
       }},
      {"Pad by other than zeros, edges or reflections",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.integers("pads", {0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
         onnx::NodeProto& node = model.node("Pad", {"in", "pads"}, {"out"});
         test::set_text(node, "mode", "wrap");
         return node;
       }},
      {"Cast to whole numbers",
       [](OnnxModel& model) -> onnx::NodeProto& {
         onnx::NodeProto& node = model.node("Cast", {"in"}, {"out"});
         test::set_integer(node, "to", onnx::TensorProto::INT64);
         return node;
       }},
      {"Resize by other than whole factors",
       [](OnnxModel& model) -> onnx::NodeProto& {
         return resize_by(model, {1, 1, 1.5F, 1, 1});
       }},
      {"Resize by other than whole factors",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.integers("more", {0, 0, 1, 0, 0});
         model.node("Shape", {"in"}, {"extents"});
         model.node("Add", {"extents", "more"}, {"sizes"});
         return model.node("Resize", {"in", "", "", "sizes"}, {"out"});
       }},
      {"Resize to computed sizes",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         return computed(model, {"in", "", "", "shape"}, "Resize");
       }},
      {"Resize to computed sizes (linear align_corners)",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         onnx::NodeProto& node = computed(model, {"in", "", "", "shape"}, "Resize");
         test::set_text(node, "mode", "linear");
         test::set_text(node, "coordinate_transformation_mode", "align_corners");
         return node;
       }},
      {"Resize to fixed sizes",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.integers("sizes", {1, 1, 8, 8, 8});
         return model.node("Resize", {"in", "", "", "sizes"}, {"out"});
       }},
      {"Resize cubic half_pixel",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.tensor("scales", {5}, {1, 1, 2, 2, 2});
         onnx::NodeProto& node = model.node("Resize", {"in", "", "scales"}, {"out"});
         test::set_text(node, "mode", "cubic");
         return node;
       }},
      {"Slice with computed bounds",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         return computed(model, {"in", "shape", "shape"}, "Slice");
       }},
      {"Slice by an open extent",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.integers("starts", {0});
         model.integers("ends", {8});
         model.integers("axes", {2});
         return model.node("Slice", {"in", "starts", "ends", "axes"}, {"out"});
       }},
      {"Upsample by other than whole factors",
       [](OnnxModel& model) -> onnx::NodeProto& {
         model.tensor("scales", {5}, {1, 1, 1.5F, 1, 1});
         return model.node("Upsample", {"in", "scales"}, {"out"});
       }},
      {"Upsample by computed scales",
       [&](OnnxModel& model) -> onnx::NodeProto& {
         return computed(model, {"in", "shape"}, "Upsample");
       }},
  };
}

TEST(OnnxWords, RefusalsOfSupportedOperators) {
  for (const Refused& refused : refused_nodes()) {
    OnnxModel model;
    refused.add(model);
    const Blockers blockers = model.output("out").blockers();
    ASSERT_EQ(blockers.kinds.size(), 1U) << refused.what;
    EXPECT_EQ(blockers.kinds[0].what, refused.what);
  }
}

TEST(OnnxWords, AnyOtherRefusalHasTheOperatorsName) {
  OnnxModel model;
  model.node("Concat", {"in", "in"}, {"out"});
  const OnnxWords words = words_of_refusal(model.proto.graph().node(0), "attribute 'axis' is missing");
  EXPECT_EQ(words.what, "Concat");
  EXPECT_FALSE(words.is_kind);
}

TEST(OnnxWords, Networks) {
  OnnxModel outputs;
  onnx::NodeProto& pool = outputs.node("MaxPool", {"in"}, {"a"});
  test::set_integers(pool, "kernel_shape", {2, 2, 2});
  test::set_integers(pool, "strides", {2, 2, 2});
  test::set_integers(pool, "pads", {1, 1, 1, 1, 1, 1});
  outputs.output("a").output("in");
  OnnxModel inputs;
  inputs.input("other", 1, 2);
  inputs.node("Add", {"in", "other"}, {"a"});
  inputs.output("a");
  const std::pair<const OnnxModel*, const char*> models[] = {{&outputs, "outputs of different extents"},
                                                             {&inputs, "inputs of different extents"}};
  for (const auto& [model, what] : models) {
    const Blockers blockers = model->blockers();
    ASSERT_EQ(blockers.kinds.size(), 1U) << what;
    EXPECT_EQ(blockers.kinds[0].what, what);
  }
  EXPECT_EQ(words_of_network("anything else").what, "the network as a whole");
}

}  // namespace
}  // namespace znni
