// How rows flow through the levels of a stack. A worker takes the rows of one block of channels one after the other,
// and each as far down as it goes: a row of a level is made when the last row that it needs has come. Nothing is
// computed twice within a part. What a level keeps are the rows of window - 1 planes before, and of each plane the
// window - 1 rows before.
//
// Rows are taken in blocks: all planes of the first rows, then all planes of the next. So the rows of planes that a
// level keeps are those of a block, which lie in the core's own cache.
//
// A short row would wait for the one that the level above has just written. So, where all rows are one block, levels
// are a row further apart than they must be. They are passed from the last to the first, and none waits for another.
#pragma once

#include <span>
#include <vector>

#include "primitives/cpu/pool/stack_levels.hpp"

namespace znni::cpu {

struct StackRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }
  [[nodiscard]] bool holds(std::int64_t at) const { return begin <= at && at < end; }
};

// A part of the last level's output: some planes and some voxels of every row.
struct StackPart {
  StackRange z;
  StackRange x;
};

// One level in a part. Places are counted in floats from the start of a worker's memory.
struct LevelFlow {
  StackLevel level;
  StackRange z_in;  // what is read and written of the level's tensors
  StackRange z_out;
  StackRange x_in;
  StackRange x_out;
  std::int64_t lag_z = 0;  // planes that have come in before this level's first
  std::int64_t lag_y = 0;  // rows, likewise
  std::int64_t row = 0;    // where the row that comes in lies, with its padding
  std::int64_t row_floats = 0;
  std::int64_t pad = 0;     // floats of padding before it
  std::int64_t planes = 0;  // where rows of earlier planes lie, [plane][row of the block]
  std::int64_t rows = 0;    // where earlier rows lie, [plane][row]; of one plane if there is one block
  std::int64_t pitch = 0;   // floats from one of these rows to the next
};

struct PartFlow {
  std::vector<LevelFlow> levels;
  std::int64_t width = 1;     // lanes
  std::int64_t block = 0;     // rows that come in between two planes
  bool in_blocks = false;     // not all rows are one block
  bool is_apart = false;      // a level takes the row that the one above made when the row before came in
  StackRange z;               // planes that come in, and those after which the last come out
  std::int64_t y = 0;         // rows, likewise
  std::int64_t lowest = 0;    // where a row of -infinity lies
  std::int64_t zeros = 0;     // where a row of zeros lies
  std::int64_t unused = 0;    // where rows go that nothing needs
  std::int64_t last_row = 0;  // where the last level's row lies if it has no whole vectors
  std::int64_t floats = 0;    // of a worker's memory
};

// Returns the flow of a part of a chunk of levels, with blocks of so many rows of rows_of().
[[nodiscard]] PartFlow flow_of(std::span<const StackLevel> levels, const StackPart& part, std::int64_t width,
                               std::int64_t block);

// Returns the rows that come in from the first to the last, those counted after which the last come out.
[[nodiscard]] std::int64_t rows_of(std::span<const StackLevel> levels);

}  // namespace znni::cpu
