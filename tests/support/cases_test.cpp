#include "tests/support/cases.hpp"

#include <gtest/gtest.h>

#include "tests/support/random.hpp"
#include "tests/support/temporary.hpp"

namespace znni::test {
namespace {

TEST(ParseProblem, IsTheInverseOfToString) {
  for (const char* text :
       {"conv 1x80x48x48x48 -> 80, k 5x5x5, relu", "conv 2x3x9x8x7 -> 4, k 1x2x3, dilation 3x2x1, elu 0.25",
        "conv 1x1x9x9x9 -> 1, k 2x2x2", "conv 1x1x9x9x9 -> 1, k 2x2x2, residual",
        "conv 1x1x9x9x9 -> 1, k 2x2x2, dilation 1x2x1, residual, elu 0.5",
        "max pool 1x5x8x8x8, window 2x2x2, stride 2x2x2, plain",
        "average pool 8x5x7x7x7, window 2x2x2, stride 2x2x2, fragments of 2x2x2"}) {
    const Result<LayerProblem> problem = parse_problem(text);
    ASSERT_TRUE(problem.has_value()) << problem.error().message;
    EXPECT_EQ(to_string(*problem), text);
  }
}

TEST(ParseProblem, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"", "conv", "conv 1x1x9x9x9 -> 1, k 2x2", "conv 1x1x9x9x9 -> 1, k 2x2x2, softsign",
                           "min pool 1x5x8x8x8, window 2x2x2, stride 2x2x2, plain", "conv 1x1x2x2x2 -> 1, k 3x3x3"}) {
    const Result<LayerProblem> problem = parse_problem(text);
    ASSERT_FALSE(problem.has_value()) << text;
    EXPECT_NE(problem.error().message.find(text), std::string::npos) << problem.error().message;
  }
}

TEST(ReadCases, SkipsCommentsAndNamesTheFileInErrors) {
  const TemporaryDirectory directory;
  const auto good = directory.write("good.txt", "# a comment\n\nfirst: conv 1x1x9x9x9 -> 1, k 2x2x2\n");
  const Result<std::vector<Case>> cases = read_cases(good);
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ((*cases)[0].name, "first");
  const auto bad = directory.write("bad.txt", "no colon\n");
  EXPECT_NE(read_cases(bad).error().message.find("bad.txt"), std::string::npos);
  EXPECT_EQ(read_cases(directory.path() / "none.txt").error().code, ErrorCode::not_found);
}

TEST(ReadCases, EveryFileOfTheTreeIsSound) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(case_folder())) {
    const Result<std::vector<Case>> cases = read_cases(entry.path());
    EXPECT_TRUE(cases.has_value()) << cases.error().message;
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace znni::test
