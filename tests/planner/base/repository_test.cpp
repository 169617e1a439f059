#include "planner/base/repository.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

TEST(PlannerRepository, ListsModelsByNameAndVersionsByNumber) {
  const test::TemporaryDirectory directory;
  for (const char* file : {"b/10/model.onnx", "b/9/model.onnx", "b/model.onnx", "a/1/model.onnx", "a/1/plan.pbtxt",
                           "a/latest/model.onnx", "a/2/weights.onnx", "config.pbtxt"}) {
    directory.write(file, "x");
  }
  const Result<std::vector<ModelVersion>> models = list_models(directory.path());
  ASSERT_TRUE(models) << models.error().message;
  std::vector<std::string> found;
  for (const ModelVersion& model : *models) {
    found.push_back(model.model + "/" + model.version);
    EXPECT_EQ(model.file, directory.path() / model.model / model.version / "model.onnx");
    EXPECT_EQ(model.config, directory.path() / model.model / "config.pbtxt");
  }
  EXPECT_EQ(found, (std::vector<std::string>{"a/1", "b/9", "b/10"}));
}

// The daemon counts versions so: 63 bits, no sign, no leading zeros.
TEST(PlannerRepository, VersionsMayHaveTenDigitsAndMore) {
  const test::TemporaryDirectory directory;
  for (const char* version : {"2147483648", "20261123170000", "999999999", "9223372036854775807", "9223372036854775808",
                              "0", "01", "-1", "+1", "1 "}) {
    directory.write("net/" + std::string(version) + "/model.onnx", "x");
  }
  const Result<std::vector<ModelVersion>> models = list_models(directory.path());
  ASSERT_TRUE(models) << models.error().message;
  std::vector<std::string> found;
  for (const ModelVersion& model : *models) found.push_back(model.version);
  EXPECT_EQ(found, (std::vector<std::string>{"999999999", "2147483648", "20261123170000", "9223372036854775807"}));
}

TEST(PlannerRepository, OneFileWithoutVersionsIsVersionOne) {
  const test::TemporaryDirectory directory;
  directory.write("net/model.onnx", "x");
  const Result<std::vector<ModelVersion>> models = list_models(directory.path());
  ASSERT_TRUE(models) << models.error().message;
  ASSERT_EQ(models->size(), 1U);
  EXPECT_EQ(models->front().version, "1");
  EXPECT_EQ(models->front().file, directory.path() / "net/model.onnx");
  EXPECT_EQ(models->front().config, directory.path() / "net/config.pbtxt");
}

// A file of ONNX is preferred to one of Caffe.
TEST(PlannerRepository, NetworksOfCaffe) {
  const test::TemporaryDirectory directory;
  for (const char* file : {"a/1/model.prototxt", "b/model.prototxt", "c/1/model.prototxt", "c/1/model.onnx"}) {
    directory.write(file, "x");
  }
  const Result<std::vector<ModelVersion>> models = list_models(directory.path());
  ASSERT_TRUE(models) << models.error().message;
  std::vector<std::string> found;
  for (const ModelVersion& model : *models) found.push_back(model.file.lexically_relative(directory.path()));
  EXPECT_EQ(found, (std::vector<std::string>{"a/1/model.prototxt", "b/model.prototxt", "c/1/model.onnx"}));
}

TEST(PlannerRepository, SaysWhenThereIsNone) {
  const test::TemporaryDirectory directory;
  const Result<std::vector<ModelVersion>> empty = list_models(directory.path());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::not_found);
  const Result<std::vector<ModelVersion>> missing = list_models(directory.path() / "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("nowhere"), std::string::npos);
}

TEST(PlannerRepository, StateDirectoryFollowsTheEnvironment) {
  const char* const home = std::getenv("HOME");
  const std::string kept_home = home == nullptr ? "" : home;
  const char* const state = std::getenv("XDG_STATE_HOME");
  const std::string kept_state = state == nullptr ? "" : state;
  setenv("XDG_STATE_HOME", "/var/state", 1);
  EXPECT_EQ(*state_directory(), fs::path("/var/state/znni"));
  setenv("XDG_STATE_HOME", "", 1);
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(*state_directory(), fs::path("/home/x/.local/state/znni"));
  unsetenv("HOME");
  EXPECT_FALSE(state_directory());
  if (home != nullptr) setenv("HOME", kept_home.c_str(), 1);
  if (state == nullptr) {
    unsetenv("XDG_STATE_HOME");
  } else {
    setenv("XDG_STATE_HOME", kept_state.c_str(), 1);
  }
}

TEST(PlannerRepository, MakesTheDirectoriesOfAFile) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(make_parents(directory.path() / "a" / "b" / "file"));
  EXPECT_TRUE(fs::is_directory(directory.path() / "a" / "b"));
  EXPECT_TRUE(make_parents("file"));
  directory.write("blocked", "x");
  EXPECT_FALSE(make_parents(directory.path() / "blocked" / "b" / "file"));
}

TEST(PlannerRepository, TellsWhetherAFileCouldBeWrittenAndLeavesNothing) {
  const test::TemporaryDirectory directory;
  EXPECT_TRUE(check_place(directory.path() / "a" / "b" / "plan.pbtxt"));
  EXPECT_TRUE(fs::is_empty(directory.path()));
  directory.write("blocked", "x");
  for (const fs::path& wrong :
       {directory.path(), directory.path() / "blocked" / "a" / "plan.pbtxt", fs::path("/proc/x/y")}) {
    const Result<void> refused = check_place(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message.find(wrong.string()), std::string::npos) << refused.error().message;
  }
}

TEST(PlannerRepository, TellsWhetherAFileCouldBeWritten) {
  const test::TemporaryDirectory directory;
  const fs::path file = directory.path() / "a" / "report.html";
  EXPECT_TRUE(check_writable(file));
  EXPECT_FALSE(fs::exists(file)) << "it only looks";
  EXPECT_TRUE(check_writable("report.html"));
  directory.write("blocked", "x");
  for (const fs::path& wrong : {directory.path(), directory.path() / "blocked" / "report.html", fs::path("/proc/x")}) {
    const Result<void> refused = check_writable(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message.find(wrong.parent_path().string()), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace znni
