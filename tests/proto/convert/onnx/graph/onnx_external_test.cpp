#include "proto/convert/onnx/graph/onnx_external.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::ElementsAre;
using testing::HasSubstr;

std::string raw(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A model in a folder whose first initializer, "w" of two numbers, is in another file.
class OnnxExternal : public testing::Test {
 protected:
  void refer(std::string_view location) { test::move_outside(tensor_, location); }
  Result<ExternalData> open() { return ExternalData::open(model_.proto, folder_.path() / "model.onnx"); }
  std::vector<float> floats(const onnx::TensorProto& tensor) { return open().value().floats_of(tensor).value(); }
  std::string refusal() { return refusal(folder_.path() / "model.onnx"); }
  std::string refusal(const std::filesystem::path& model_file) {
    const Result<ExternalData> opened = ExternalData::open(model_.proto, model_file);
    return opened ? "" : std::string(to_string(opened.error().code)) + ": " + opened.error().message;
  }

  test::TemporaryDirectory folder_;
  OnnxModel model_;
  onnx::TensorProto& tensor_ = model_.tensor("w", {2});
};

TEST_F(OnnxExternal, TheWholeFile) {
  folder_.write("weights.bin", raw({1.5F, -2}));
  refer("weights.bin");
  EXPECT_THAT(floats(tensor_), ElementsAre(1.5F, -2));
  EXPECT_EQ(open()->bytes(), 8);
}

TEST_F(OnnxExternal, APartOfAFileBelowTheFolder) {
  folder_.write("data/weights.bin", raw({9, 1, 2, 9}));
  refer("data/weights.bin");
  test::set_external(tensor_, "offset", "4");
  test::set_external(tensor_, "length", "8");
  test::set_external(tensor_, "checksum", "0123");
  EXPECT_THAT(floats(tensor_), ElementsAre(1, 2));
}

TEST_F(OnnxExternal, TensorsOfConstantNodesToo) {
  folder_.write("weights.bin", raw({3, 4}));
  onnx::AttributeProto& value = *model_.node("Constant", {}, {"c"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor_;
  test::move_outside(*value.mutable_t(), "weights.bin");
  EXPECT_THAT(floats(value.t()), ElementsAre(3, 4));
  EXPECT_THAT(floats(tensor_), ElementsAre(0, 1)) << "what is in the model stays";
}

TEST_F(OnnxExternal, TypesThatNobodyReadsAreLeftAlone) {
  refer("nowhere.bin");
  tensor_.set_data_type(onnx::TensorProto::INT64);
  EXPECT_TRUE(open());
}

// Tensors of every type are larger than the part that is read at a time.
TEST_F(OnnxExternal, NumbersOfEveryTypePartAfterPart) {
  constexpr std::int64_t count = 700'001;
  std::vector<double> doubles(count);
  for (std::size_t i = 0; i < doubles.size(); ++i) doubles[i] = static_cast<double>(i % 2048);
  std::vector<std::uint16_t> halves(count, 0x3C00);  // 1
  halves.back() = 0xC000;                            // -2
  const std::vector<float> floats_before(doubles.begin(), doubles.end());
  const auto bytes_of = [](const auto& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  folder_.write("weights.bin", bytes_of(doubles) + bytes_of(halves) + bytes_of(floats_before));
  refer("weights.bin");
  tensor_.set_dims(0, count);
  tensor_.set_data_type(onnx::TensorProto::DOUBLE);
  EXPECT_EQ(floats(tensor_), floats_before);
  tensor_.set_data_type(onnx::TensorProto::FLOAT16);
  test::set_external(tensor_, "offset", std::to_string(count * 8));
  const std::vector<float> read = floats(tensor_);
  EXPECT_EQ(std::count(read.begin(), read.end(), 1.0F), count - 1);
  EXPECT_EQ(read.back(), -2);
  tensor_.set_data_type(onnx::TensorProto::BFLOAT16);
  EXPECT_EQ(floats(tensor_).back(), -2);
  tensor_.set_data_type(onnx::TensorProto::FLOAT);
  test::set_external(tensor_, "offset", std::to_string(count * 10));
  EXPECT_EQ(floats(tensor_), floats_before);
}

TEST_F(OnnxExternal, AFileThatShrankMeanwhileIsAnError) {
  folder_.write("weights.bin", raw({1, 2}));
  refer("weights.bin");
  Result<ExternalData> opened = open();
  ASSERT_TRUE(opened);
  std::filesystem::resize_file(folder_.path() / "weights.bin", 4);
  EXPECT_EQ(opened->floats_of(tensor_).error().message, "tensor 'w': cannot read its 8 bytes of external data");
}

TEST_F(OnnxExternal, MissingAndShortFiles) {
  refer("weights.bin");
  EXPECT_EQ(refusal(),
            "not_found: tensor 'w': its external data is in 'weights.bin', which is not beside the model; copy it "
            "there");
  folder_.write("weights.bin", raw({1}));
  EXPECT_EQ(
      refusal(),
      "corrupt_file: tensor 'w': needs 8 bytes from byte 0 of 'weights.bin', which has 4; is the file cut short?");
  std::filesystem::remove(folder_.path() / "weights.bin");
  std::filesystem::create_directory(folder_.path() / "weights.bin");
  EXPECT_THAT(refusal(), HasSubstr("tensor 'w': 'weights.bin' is no regular file"));
}

TEST_F(OnnxExternal, NamesThatLeadOutOfTheFolder) {
  folder_.write("weights.bin", raw({1, 2}));
  const std::string locations[] = {"",
                                   "/etc/passwd",
                                   "../weights.bin",
                                   "a/../weights.bin",
                                   "..",
                                   (folder_.path() / "weights.bin").string(),
                                   "a\nb",
                                   std::string("weights.bin\0.txt", 16)};
  for (const std::string& location : locations) {
    tensor_.clear_external_data();
    refer(location);
    EXPECT_THAT(refusal(), HasSubstr("unsupported: tensor 'w': its external data is in '")) << location;
  }
}

TEST_F(OnnxExternal, LinksOutOfTheFolder) {
  const test::TemporaryDirectory elsewhere;
  elsewhere.write("weights.bin", raw({1, 2}));
  std::filesystem::create_symlink(elsewhere.path() / "weights.bin", folder_.path() / "weights.bin");
  refer("weights.bin");
  EXPECT_THAT(refusal(), HasSubstr("a link out of the folder"));
  // Model caches hold both files as links into one folder.
  elsewhere.write("model.onnx", "");
  std::filesystem::create_symlink(elsewhere.path() / "model.onnx", folder_.path() / "model.onnx");
  EXPECT_EQ(refusal(), "");
}

TEST_F(OnnxExternal, LinksOutOfTheFolderOfAModelNamedWithoutOne) {
  const test::TemporaryDirectory elsewhere;
  elsewhere.write("weights.bin", raw({1, 2}));
  std::filesystem::create_symlink(elsewhere.path() / "weights.bin", folder_.path() / "weights.bin");
  refer("weights.bin");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const std::string text = refusal("model.onnx");
  std::filesystem::current_path(before);
  EXPECT_THAT(text, HasSubstr("a link out of the folder"));
}

TEST_F(OnnxExternal, PipesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_.path() / "weights.bin").c_str(), 0600), 0);
  refer("weights.bin");
  EXPECT_THAT(refusal(), HasSubstr("no regular file"));
}

TEST_F(OnnxExternal, HollowFilesDoNotFillTheMemory) {
  folder_.write("weights.bin", "");
  std::filesystem::resize_file(folder_.path() / "weights.bin", std::uintmax_t{1} << 40);
  tensor_.clear_dims();
  tensor_.add_dims(std::int64_t{1} << 36);
  refer("weights.bin");
  EXPECT_THAT(refusal(), HasSubstr("the most that is read"));
}

TEST_F(OnnxExternal, NumbersThatAreNone) {
  folder_.write("weights.bin", raw({1, 2}));
  for (const char* bad : {"", "-4", "4x", "99999999999999999999", " 4", "0x4"}) {
    tensor_.clear_external_data();
    refer("weights.bin");
    test::set_external(tensor_, "offset", bad);
    EXPECT_THAT(refusal(), HasSubstr("corrupt_file: tensor 'w': offset of its external data is '")) << bad;
  }
}

TEST_F(OnnxExternal, OffsetsAndExtentsOutOfRange) {
  folder_.write("weights.bin", raw({1, 2}));
  for (const char* offset : {"1", "8", "9", "9223372036854775807"}) {
    tensor_.clear_external_data();
    refer("weights.bin");
    test::set_external(tensor_, "offset", offset);
    EXPECT_THAT(refusal(), HasSubstr("of 'weights.bin', which has 8")) << offset;
  }
  tensor_.clear_external_data();
  refer("weights.bin");
  test::set_external(tensor_, "length", "4");
  EXPECT_THAT(refusal(), HasSubstr("has 4 bytes of external data; its extents ask for 8"));
  tensor_.mutable_external_data()->RemoveLast();
  for (const std::int64_t extent : {std::int64_t{3}, std::int64_t{1} << 61, std::int64_t{1} << 62}) {
    tensor_.set_dims(0, extent);
    EXPECT_THAT(refusal(), HasSubstr("which has 8; is the file cut short?")) << extent;
  }
  tensor_.set_dims(0, -1);
  EXPECT_THAT(refusal(), HasSubstr("has an extent of -1"));
}

TEST_F(OnnxExternal, ASmallFileDoesNotFillTheMemory) {
  folder_.write("weights.bin", raw({1, 2}));
  for (int i = 0; i < 5; ++i) test::move_outside(model_.tensor(test::numbered("t", i), {2}), "weights.bin");
  EXPECT_THAT(refusal(), HasSubstr("tensor 't4': is one of too many tensors that share bytes"));
}

}  // namespace
}  // namespace znni
