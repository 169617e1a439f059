#include "planner/search/search_teller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace znni {
namespace {

TEST(SearchTeller, TellsOnItsOwnThreadWhatAllHaveLookedAt) {
  std::vector<SearchProgress> told;
  const auto own = std::this_thread::get_id();
  const std::function<void(const SearchProgress&)> tell = [&](const SearchProgress& progress) {
    EXPECT_EQ(std::this_thread::get_id(), own);
    told.push_back(progress);
  };
  SearchTeller teller(tell, {0, 10, 5, true});
  std::jthread([&teller] { teller.looked(); }).join();
  teller.looked();
  teller.found(7);
  const std::vector<SearchProgress> wanted = {{0, 10, 5, true}, {2, 10, 5, true}, {2, 10, 7, true}};
  EXPECT_EQ(told, wanted);
}

TEST(SearchTeller, NobodyNeedListen) {
  const std::function<void(const SearchProgress&)> none;
  SearchTeller teller(none, {0, 1, 0, false});
  teller.looked();
  teller.found(1);
}

}  // namespace
}  // namespace znni
