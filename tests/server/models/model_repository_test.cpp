#include "server/models/model_repository.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(ModelRepository, FindsTheNewestVersionOfEachModel) {
  const TemporaryDirectory directory;
  for (const char* version : {"1", "9", "10", "latest", "010", "-3", "0"}) {
    directory.write(std::string("membrane/") + version + "/model.onnx", "");
  }
  directory.write("axon/2/model.onnx", "");
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path());
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->at(0).name, "axon");
  EXPECT_EQ(entries->at(0).version, "2");
  const ModelEntry& membrane = entries->at(1);
  EXPECT_EQ(membrane.name, "membrane");
  EXPECT_EQ(membrane.version, "10");
  EXPECT_EQ(membrane.network_file, directory.path() / "membrane/10/model.onnx");
  EXPECT_EQ(membrane.plan_file, directory.path() / "membrane/10/plan.pbtxt");
  EXPECT_EQ(membrane.config_file, directory.path() / "membrane/config.pbtxt");
  EXPECT_THAT(membrane.passed_over, UnorderedElementsAre("1", "9"));
  EXPECT_EQ(membrane.problem, "");
}

TEST(ModelRepository, NetworksOfCaffe) {
  const TemporaryDirectory directory;
  directory.write("a/3/model.prototxt", "");
  directory.write("b/model.prototxt", "");
  directory.write("c/net.caffemodel", "");
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path());
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ(entries->at(0).network_file, directory.path() / "a/3/model.prototxt");
  EXPECT_EQ(entries->at(0).plan_file, directory.path() / "a/3/plan.pbtxt");
  EXPECT_EQ(entries->at(1).network_file, directory.path() / "b/model.prototxt");
  EXPECT_EQ(entries->at(1).version, "1");
  EXPECT_THAT(entries->at(2).problem, HasSubstr("no version found"));
}

TEST(ModelRepository, OneFileWithoutVersionsIsVersionOne) {
  const TemporaryDirectory directory;
  directory.write("membrane/model.onnx", "");
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path());
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->at(0).problem, "");
  EXPECT_EQ(entries->at(0).version, "1");
  EXPECT_EQ(entries->at(0).network_file, directory.path() / "membrane/model.onnx");
  EXPECT_EQ(entries->at(0).plan_file, directory.path() / "membrane/plan.pbtxt");
  EXPECT_EQ(entries->at(0).warning, "");
  directory.write("membrane/2/model.onnx", "");
  const ModelEntry both = scan_repository(directory.path())->at(0);
  EXPECT_EQ(both.network_file, directory.path() / "membrane/2/model.onnx");
  EXPECT_THAT(both.warning, HasSubstr("membrane/model.onnx: is not served, version 2 is; remove it"));
}

TEST(ModelRepository, WhatShallBeLoadedMustBeThere) {
  ModelEntry axon;
  axon.name = "axon";
  EXPECT_TRUE(check_named("/models", {axon}, {}));
  EXPECT_TRUE(check_named("/models", {axon}, {"axon"}));
  const Result<void> missing = check_named("/models", {axon}, {"axon", "axons"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("/models: it has no model 'axons'"));
}

TEST(ModelRepository, AModelWithoutAVersionIsKeptWithItsReason) {
  const TemporaryDirectory directory;
  directory.write("membrane/network.onnx", "");
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path());
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->at(0).version, "");
  EXPECT_THAT(entries->at(0).problem, HasSubstr("no version found"));
  EXPECT_THAT(entries->at(0).problem, HasSubstr("membrane"));
}

TEST(ModelRepository, PlainFilesAndHiddenFoldersAreNoModels) {
  const TemporaryDirectory directory;
  directory.write("README.md", "");
  directory.write(".git/1/model.onnx", "");
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path());
  ASSERT_TRUE(entries);
  EXPECT_THAT(*entries, IsEmpty());
}

TEST(ModelRepository, FoldersThatHoldSomethingElseArePassedOverWithOneWarning) {
  const TemporaryDirectory directory;
  directory.write("membrane/1/model.onnx", "");
  directory.write("configured/config.pbtxt", "");
  std::filesystem::create_directories(directory.path() / "empty/1");
  std::filesystem::create_directories(directory.path() / "being_copied");
  std::filesystem::create_directories(directory.path() / "lost+found/#1234");
  directory.write("notes/old/README.md", "");
  directory.write("scripts/run.sh", "");
  directory.write(".snapshot/notes.txt", "");
  std::string log;
  const Result<std::vector<ModelEntry>> entries = scan_repository(
      directory.path(),
      [&log](std::string_view level, const std::string& line) { log += std::string(level) + line + "\n"; });
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ(entries->at(0).name, "being_copied");
  EXPECT_THAT(entries->at(0).problem, HasSubstr("no version found"));
  EXPECT_EQ(entries->at(1).name, "configured");
  EXPECT_THAT(entries->at(1).problem, HasSubstr("no version found"));
  EXPECT_EQ(entries->at(2).name, "empty");
  EXPECT_EQ(entries->at(3).name, "membrane");
  EXPECT_EQ(log, "warning" + directory.path().string() +
                     ": passed over, with neither a model's file nor a version's folder in it: notes, scripts\n");
}

TEST(ModelRepository, AFolderThatMayNotBeReadIsAModelThatCannotBeLoaded) {
  namespace fs = std::filesystem;
  if (geteuid() == 0) GTEST_SKIP() << "root may read any folder";
  const TemporaryDirectory directory;
  for (const char* name : {"membrane", "lost+found"}) {
    directory.write(std::string(name) + "/1/model.onnx", "");
    fs::permissions(directory.path() / name, fs::perms::none);
  }
  const Result<std::vector<ModelEntry>> entries = scan_repository(directory.path(), {});
  for (const char* name : {"membrane", "lost+found"}) fs::permissions(directory.path() / name, fs::perms::owner_all);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->at(0).name, "membrane");
  EXPECT_THAT(entries->at(0).problem, HasSubstr("membrane: Permission denied"));
}

TEST(ModelRepository, AFolderThatIsNotThereIsNamed) {
  const Result<std::vector<ModelEntry>> entries = scan_repository("/nowhere/at/all");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::not_found);
  EXPECT_THAT(entries.error().message, HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace znni
