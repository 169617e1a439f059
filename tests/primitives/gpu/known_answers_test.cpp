#include "primitives/gpu/known_answers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace znni::cuda {
namespace {

TEST(KnownAnswers, AreFoundOnce) {
  KnownAnswers<int, std::string> known(100);
  int found = 0;
  for (const int question : {1, 2, 1, 1, 2}) {
    const auto find = [&]() -> Result<std::string> { return ++found, std::to_string(question); };
    EXPECT_EQ(known.get(question, find).value(), std::to_string(question));
  }
  EXPECT_EQ(found, 2);
}

TEST(KnownAnswers, AreForgottenWhereThereAreTooMany) {
  KnownAnswers<int, int> known(2);
  int found = 0;
  const auto ask = [&](int question) {
    return known.get(question, [&]() -> Result<int> { return ++found, 10 * question; }).value();
  };
  for (const int question : {1, 2, 3, 3, 1}) EXPECT_EQ(ask(question), 10 * question);
  EXPECT_EQ(found, 4) << "1 was forgotten with 2, and 3 was not";
}

TEST(KnownAnswers, ErrorsAreNotKept) {
  KnownAnswers<int, int> known(2);
  const auto lost = [] { return Result<int>(Error{ErrorCode::device_failure, "lost"}); };
  EXPECT_EQ(known.get(1, lost).error().message, "lost");
  EXPECT_EQ(known.get(1, []() -> Result<int> { return 10; }).value(), 10) << "it came back";
  EXPECT_EQ(known.get(1, lost).value(), 10);
}

TEST(KnownAnswers, MayBeAskedForByManyThreads) {
  KnownAnswers<int, int> known(8);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          const int question = i * 7 % 13;
          wrong += known.get(question, [=]() -> Result<int> { return -question; }).value() == -question ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace znni::cuda
