#include "proto/convert/onnx/reader/onnx_outline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "primitives/core/shape.hpp"
#include "proto/convert/onnx/graph/onnx_external.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;
using testing::StartsWith;

class OnnxOutline : public testing::Test {
 protected:
  OnnxOutline() {
    model_.tensor("small", {3}, {1, 2, 3});
    for (const char* name : {"large", "larger"}) {
      const std::int64_t count = name == std::string("large") ? 1 << 14 : 40'001;
      model_.tensor(name, {count});
    }
  }
  std::string write() { return folder_.write("model.onnx", model_.bytes()); }
  onnx::ModelProto outline() {
    onnx::ModelProto parsed;
    EXPECT_TRUE(parsed.ParseFromString(read_onnx_outline(write(), saturated).value()));
    return parsed;
  }

  test::TemporaryDirectory folder_;
  OnnxModel model_ = test::rich_model();
};

TEST_F(OnnxOutline, LeavesOutWhatIsLargeAndNothingElse) {
  onnx::ModelProto outline = this->outline();
  EXPECT_LT(outline.ByteSizeLong(), 20'000U);
  int left_out = 0;
  for (int i = 0; i < outline.graph().initializer_size(); ++i) {
    onnx::TensorProto& tensor = *outline.mutable_graph()->mutable_initializer(i);
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    ++left_out;
    EXPECT_THAT(tensor.name(), StartsWith("large"));
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data(model_.proto.graph().initializer(i).raw_data());
  }
  EXPECT_EQ(left_out, 2);
  EXPECT_EQ(outline.SerializeAsString(), model_.bytes());
}

TEST_F(OnnxOutline, NumbersAreFoundInTheFileItself) {
  const onnx::ModelProto outline = this->outline();
  Result<ExternalData> files = ExternalData::open(outline, folder_.path() / "model.onnx");
  ASSERT_TRUE(files) << files.error().message;
  for (int i = 0; i < outline.graph().initializer_size(); ++i) {
    const Result<std::vector<float>> whole = floats_of(model_.proto.graph().initializer(i));
    EXPECT_EQ(files->floats_of(outline.graph().initializer(i)).value(), *whole);
  }
}

TEST_F(OnnxOutline, IntegersStay) {
  onnx::TensorProto& tensor = model_.tensor("integers", {1 << 14});
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.set_raw_data(std::string(std::size_t{1} << 17, 'x'));
  const onnx::ModelProto outline = this->outline();
  EXPECT_EQ(outline.graph().initializer().rbegin()->raw_data(), tensor.raw_data());
}

TEST_F(OnnxOutline, KeepsNoMoreThanItMay) {
  onnx::TensorProto& listed = model_.tensor("listed", {1 << 15});
  listed.clear_raw_data();
  for (int i = 0; i < 1 << 15; ++i) listed.add_float_data(1);
  EXPECT_TRUE(read_onnx_outline(write(), 1 << 18));
  const Error refused = read_onnx_outline(write(), 1 << 16).error();
  EXPECT_EQ(refused.code, ErrorCode::over_budget);
  EXPECT_THAT(refused.message, HasSubstr("model.onnx: holds more than 64.00 KiB beside its initializers' raw data"));
}

// Each of these fields holds little more than its tag, but takes memory.
TEST_F(OnnxOutline, EmptyNodesAndSingleNumbersCountToo) {
  OnnxModel nodes = model_;
  for (int i = 0; i < 1 << 16; ++i) nodes.proto.mutable_graph()->add_node();
  EXPECT_FALSE(read_onnx_outline(folder_.write("nodes.onnx", nodes.bytes()), 1 << 16));
  const std::string version(std::size_t{1} << 17, '\x08');  // "ir_version: 8", repeated
  EXPECT_TRUE(read_onnx_outline(folder_.write("numbers.onnx", version), 1 << 18));
  EXPECT_EQ(read_onnx_outline(folder_.write("numbers.onnx", version), 1 << 16).error().code, ErrorCode::over_budget);
}

// The outline is refused if and only if protobuf refuses the file.
TEST_F(OnnxOutline, FilesThatAreCutOrChanged) {
  const std::string bytes = model_.bytes();
  std::mt19937_64 random(7);
  const auto parses = [](const std::string& text) {
    onnx::ModelProto parsed;
    return parsed.ParseFromString(text);
  };
  int agreed = 0;
  for (int i = 0; i < 400; ++i) {
    std::string changed = bytes;
    if (i % 2 == 0) changed.resize(random() % bytes.size());
    if (i % 2 == 1) changed[random() % std::min<std::size_t>(bytes.size(), 2000)] = static_cast<char>(random());
    const Result<std::string> outline = read_onnx_outline(folder_.write("changed.onnx", changed), saturated);
    if (!parses(changed)) {
      EXPECT_FALSE(outline && parses(*outline)) << i;
    } else if (outline) {
      EXPECT_TRUE(parses(*outline)) << i;
      ++agreed;
    } else {
      EXPECT_THAT(outline.error().message, HasSubstr("not an ONNX model, or cut short")) << i;
    }
  }
  EXPECT_GT(agreed, 100);
}

TEST_F(OnnxOutline, MissingFiles) {
  EXPECT_EQ(read_onnx_outline(folder_.path() / "none.onnx", saturated).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace znni
