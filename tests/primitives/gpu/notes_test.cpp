#include "primitives/gpu/notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CudaNotes, EachLineIsGivenOnce) {
  Notes notes;
  EXPECT_THAT(notes.take(), IsEmpty());
  notes.add("b");
  notes.add("a");
  notes.add("b");
  EXPECT_THAT(notes.take(), ElementsAre("b", "a"));
  notes.add("a");
  notes.add("c");
  EXPECT_THAT(notes.take(), ElementsAre("c"));
}

}  // namespace
}  // namespace znni::cuda
