#include "server/models/spare_plans.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

class SparePlans : public testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / ("znni-plans-" + std::to_string(geteuid())); }

  const test::TemporaryDirectory temporary_;
};

TEST_F(SparePlans, LieInAFolderOfTheUserThatIsMade) {
  EXPECT_EQ(spare_plan_directory(temporary_.path()), folder());
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(spare_plan_directory(temporary_.path()), folder());
}

TEST_F(SparePlans, AFolderThatOthersMayWriteToIsNotUsed) {
  fs::create_directory(folder());
  fs::permissions(folder(), fs::perms::all);
  EXPECT_EQ(spare_plan_directory(temporary_.path()), fs::path());
}

TEST_F(SparePlans, ALinkOrAFileInItsPlaceIsNotFollowed) {
  fs::create_directory(temporary_.path() / "elsewhere");
  fs::create_directory_symlink(temporary_.path() / "elsewhere", folder());
  EXPECT_EQ(spare_plan_directory(temporary_.path()), fs::path());
  fs::remove(folder());
  temporary_.write(folder().filename(), "");
  EXPECT_EQ(spare_plan_directory(temporary_.path()), fs::path());
}

TEST_F(SparePlans, AFolderThatCanBeMadeCanBeWritten) {
  EXPECT_TRUE(can_write(temporary_.path()));
  EXPECT_TRUE(can_write(temporary_.path() / "new" / "folder"));
  EXPECT_FALSE(fs::exists(temporary_.path() / "new"));
  temporary_.write("file", "");
  EXPECT_FALSE(can_write(temporary_.path() / "file"));
  EXPECT_FALSE(can_write(temporary_.path() / "file" / "below"));
}

TEST_F(SparePlans, TheSystemSaysWhereTemporaryFilesAre) { EXPECT_NE(system_temporary_directory(), fs::path()); }

TEST_F(SparePlans, WithoutTemporaryFilesThereIsNone) {
  EXPECT_EQ(spare_plan_directory(temporary_.path() / "none"), fs::path());
}

}  // namespace
}  // namespace znni
