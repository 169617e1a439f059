#include "planner/base/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace znni {
namespace {

std::string print_of(const std::vector<std::string>& texts) {
  Fingerprint print;
  for (const std::string& text : texts) print.add(text);
  return print.text();
}

TEST(PlannerFingerprint, TheSameThingsHaveTheSame) {
  EXPECT_EQ(print_of({"weights", "plan"}), print_of({"weights", "plan"}));
  EXPECT_EQ(print_of({}).size(), 32U);
}

TEST(PlannerFingerprint, OrderBoundariesZerosAndEveryBitCount) {
  std::set<std::string> prints = {print_of({}),
                                  print_of({""}),
                                  print_of({"ab"}),
                                  print_of({"a", "b"}),
                                  print_of({"b", "a"}),
                                  print_of({std::string(8, '\0')}),
                                  print_of({std::string(9, '\0')})};
  EXPECT_EQ(prints.size(), 7U);
  std::string text(24, 'x');
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(prints.insert(print_of({other})).second) << bit;
  }
}

}  // namespace
}  // namespace znni
