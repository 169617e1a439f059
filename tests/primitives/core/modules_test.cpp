#include "primitives/core/modules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using ::testing::HasSubstr;

// Returns the path of a module; modules are built beside the test programs.
std::filesystem::path module_at(const std::string& name) { return program_folder() / module_file(name); }

void expect_refusal(const std::string& name, const std::string& reason) {
  const Result<const Backend*> opened = open_module(module_at(name));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_THAT(opened.error().message, HasSubstr(reason));
  EXPECT_THAT(opened.error().message, HasSubstr(module_file(name)));
}

TEST(Modules, OpensASoundModule) {
  const Result<const Backend*> opened = open_module(module_at("test_sound"));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const Backend& backend = **opened;
  EXPECT_EQ(backend.name, "sample");
  EXPECT_TRUE(backend.probe().empty());
  DeviceSpec none;
  none.name = "none";
  const Result<std::unique_ptr<Device>> device = backend.open(none, 0, 0, 0);
  ASSERT_FALSE(device.has_value());
  EXPECT_THAT(device.error().message, HasSubstr("'none'"));
  EXPECT_EQ(*open_module(module_at("test_sound")), *opened) << "opened twice, it is the same";
}

TEST(Modules, OthersAreRefusedInWords) {
  expect_refusal("test_of_another_interface", "interface " + std::to_string(module_abi + 1));
  expect_refusal("test_of_another_compiler", "another compiler 1.0");
  expect_refusal("test_of_another_tree", "another tree");
  expect_refusal("test_without_entry", "no function znni_backend_module");
}

TEST(Modules, FilesThatAreNoLibraryAreRefused) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path text = folder.path() / "libznni_text.so";
  std::ofstream(text) << "not a library\n";
  const Result<const Backend*> opened = open_module(text);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_THAT(opened.error().message, HasSubstr("is not a shared library"));
}

TEST(Modules, AFileThatWasCutOffIsRefused) {
  const std::string whole = test::read_text(module_at("test_sound"));
  const test::TemporaryDirectory folder;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{40}, std::size_t{300}, whole.size() / 2, whole.size() - 1}) {
    const Result<const Backend*> opened = open_module(folder.write("cut.so", whole.substr(0, bytes)));
    ASSERT_FALSE(opened.has_value()) << bytes;
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  }
  EXPECT_TRUE(open_module(folder.write("whole.so", whole)).has_value());
}

TEST(Modules, AMissingFileIsNamed) {
  for (const char* name : {"nowhere/libznni_cuda.so", ""}) {
    const Result<const Backend*> opened = open_module(name);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::not_found);
    EXPECT_THAT(opened.error().message, HasSubstr(std::string(name) + ": no such module"));
  }
}

TEST(Modules, AreFoundBesideTheProgramAndInItsLibraryFolder) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path programs = folder.path() / "bin";
  const std::filesystem::path libraries = folder.path() / "lib" / "znni";
  std::filesystem::create_directories(programs);
  std::filesystem::create_directories(libraries);
  EXPECT_FALSE(find_module("cuda", programs).has_value());
  std::ofstream(libraries / "libznni_cuda.so") << "a";
  EXPECT_EQ(find_module("cuda", programs), libraries / "libznni_cuda.so");
  std::ofstream(programs / "libznni_cuda.so") << "b";
  EXPECT_EQ(find_module("cuda", programs), programs / "libznni_cuda.so");
}

}  // namespace
}  // namespace znni
