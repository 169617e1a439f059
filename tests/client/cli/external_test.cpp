#include "client/cli/external.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

// A PATH of one folder, with programs that are shell scripts, for the time of a test.
class ClientExternal : public testing::Test {
 protected:
  ClientExternal() {
    setenv("PATH", (folder_.file("") + ":/bin").c_str(), 1);
    unsetenv("ZNNID");
  }
  ~ClientExternal() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("ZNNID");
  }

  // Returns the path of a new program.
  std::filesystem::path write_program(const std::string& name, const std::string& script) {
    const std::filesystem::path path = folder_.file(name);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  Scratch folder_;

 private:
  std::string path_ = std::getenv("PATH");
};

TEST_F(ClientExternal, FindsAProgramOnThePath) {
  const auto program = write_program("znni-look", "exit 0");
  const auto found = find_external("look");
  ASSERT_TRUE(found);
  EXPECT_TRUE(std::filesystem::equivalent(found->program, program));
  EXPECT_TRUE(found->first.empty());
}

// The program `planner` on a PATH may be another's; that of these tests has none beside it.
TEST_F(ClientExternal, CheckIsACommandOfThePlanner) {
  write_program("planner", "exit 3");
  write_program("znni-check", "exit 3");
  EXPECT_FALSE(find_external("check"));
  const auto planner = write_program("znni-planner", "echo \"<$1> <$2> <$3>\" >&2; exit 7");
  const auto found = find_external("check");
  ASSERT_TRUE(found);
  EXPECT_TRUE(std::filesystem::equivalent(found->program, planner));
  EXPECT_EQ(found->first, std::vector<std::string>{"check"});
  EXPECT_EXIT(std::puts(run_external(*found, {"net.onnx", "--json"}).c_str()), testing::ExitedWithCode(7),
              "<check> <net.onnx> <--json>");
}

TEST_F(ClientExternal, FindsNothingThatIsNoProgram) {
  std::ofstream(folder_.file("znni-text")) << "not executable";
  std::filesystem::create_directory(folder_.file("znni-folder"));
  write_program("znni-Loud", "exit 0");
  for (const char* word : {"text", "folder", "Loud", "none", "", "-x", "../znni-text", "a/b"}) {
    EXPECT_FALSE(find_external(word)) << word;
  }
}

TEST_F(ClientExternal, RunsTheProgramWithItsArguments) {
  const auto program = write_program("znni-say", "echo \"$# <$1> <$2>\" >&2; exit 7");
  EXPECT_EXIT(std::puts(run_external({program}, {"a b", "--help"}).c_str()), testing::ExitedWithCode(7),
              "2 <a b> <--help>");
}

TEST_F(ClientExternal, LeavesZnnidThatIsSet) {
  setenv("ZNNID", "/mine", 1);
  const auto program = write_program("znni-say", "echo \"<$ZNNID>\" >&2; exit 0");
  EXPECT_EXIT(std::puts(run_external({program}, {}).c_str()), testing::ExitedWithCode(0), "</mine>");
}

TEST_F(ClientExternal, SaysWhyAProgramCannotBeRun) {
  EXPECT_NE(run_external({"/none/znni-x"}, {}).find("/none/znni-x: cannot be run: No such file"), std::string::npos);
}

TEST(ClientExternalWords, HelpBecomesAnOption) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(with_help_spelled_out({"help", "run"}), (Words{"run", "--help"}));
  EXPECT_EQ(with_help_spelled_out({"help"}), (Words{"--help"}));
  EXPECT_EQ(with_help_spelled_out({"help", "run", "more"}), (Words{"run", "--help"}));
  EXPECT_EQ(with_help_spelled_out({"infer", "help"}), (Words{"infer", "help"}));
  EXPECT_EQ(with_help_spelled_out({}), Words{});
}

TEST(ClientExternalWords, AnUnknownWordIsToldInOneLine) {
  EXPECT_NE(unknown_word("run").find("comes with the Python client"), std::string::npos);
  EXPECT_NE(unknown_word("fly").find("no program znni-fly"), std::string::npos);
  EXPECT_EQ(unknown_word("fly").find('\n'), std::string::npos);
  EXPECT_NE(unknown_word("check").find("znni-planner"), std::string::npos);
}

}  // namespace
}  // namespace znni::client
