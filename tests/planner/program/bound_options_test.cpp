#include "planner/program/bound_options.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

TEST(PlannerBoundOptions, AreReadAndRefusedWhereTheyBoundNothing) {
  EXPECT_EQ(good({"--model", "x"}).bounds, SearchBounds());
  const SearchBounds bounds = good({"--model", "x", "--max-extent", "2048", "--max-S", "16", "--all-extents"}).bounds;
  EXPECT_EQ(bounds.max_extent, 2048);
  EXPECT_EQ(bounds.max_S, 16);
  EXPECT_TRUE(bounds.every_extent);
  EXPECT_NE(refused({"--model", "x", "--max-extent", "0"}).find("--max-extent"), std::string::npos);
  EXPECT_NE(refused({"--model", "x", "--max-S", "many"}).find("--max-S"), std::string::npos);
  EXPECT_NE(refused({"--model", "x", "--max-S", "8", "--S", "3"}).find("exclude each other"), std::string::npos);
  EXPECT_NE(refused({"--model", "x", "--max-extent", "64", "--patch", "88"}).find("--patch names one"),
            std::string::npos);
  EXPECT_EQ(good({"--model", "x", "--max-patches", "100000"}).bounds.max_patches, 100'000);
  EXPECT_NE(refused({"--model", "x", "--max-patches", "0"}).find("--max-patches"), std::string::npos);
  EXPECT_NE(refused({"--model", "x", "--max-patches", "9", "--patch", "88"}).find("--patch names one"),
            std::string::npos);
  EXPECT_NE(refused({"--model", "x", "--max-patches", "9", "--all-extents"}).find("exclude each other"),
            std::string::npos);
  EXPECT_EQ(good({"--model", "x", "--strategy", "cpu-gpu", "--host-ram-patches", "64"}).bounds.host_ram_patches, 64);
  EXPECT_EQ(good({"--model", "x", "--machine", "m", "--host-ram-patches", "64"}).bounds.host_ram_patches, 64);
  for (const char* strategy : {"cpu", "gpu"}) {
    EXPECT_NE(refused({"--model", "x", "--strategy", strategy, "--host-ram-patches", "64"}).find("cpu-gpu"),
              std::string::npos);
  }
  EXPECT_NE(refused({"--model", "x", "--strategy", "cpu-gpu", "--host-ram-patches", "0"}).find("--host-ram-patches"),
            std::string::npos);
  EXPECT_NE(refused({"show", "plan", "--all-extents"}).find("bound a search"), std::string::npos);
}

}  // namespace
}  // namespace znni
