// Runs a fuzz target over every file of a folder, and over changes of each, drawn from a seed.
//   TARGET_fuzz CORPUS [CHANGES_PER_FILE [SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;
using Draw = std::mt19937_64;

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes{std::istreambuf_iterator<char>(file), {}};
}

std::size_t below(std::size_t limit, Draw& draw) { return limit == 0 ? 0 : draw() % limit; }

// Makes one change: another byte, a flipped bit, a piece left out or doubled, the end cut off, or a large number.
void change(Bytes& bytes, Draw& draw) {
  if (bytes.empty()) bytes.push_back(0);
  const std::size_t at = below(bytes.size(), draw);
  const std::size_t length = std::min(below(16, draw) + 1, bytes.size() - at);
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto to = from + static_cast<std::ptrdiff_t>(length);
  switch (below(6, draw)) {
    case 0: bytes[at] = static_cast<std::uint8_t>(draw()); break;
    case 1: bytes[at] ^= static_cast<std::uint8_t>(1U << below(8, draw)); break;
    case 2: bytes.erase(from, to); break;
    case 3: {
      const Bytes piece(from, to);
      bytes.insert(from, piece.begin(), piece.end());
      break;
    }
    case 4: bytes.resize(at); break;
    default: std::fill(from, to, std::uint8_t{0xFF}); break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [CHANGES_PER_FILE [SEED]]\n", argv[0]);
    return 2;
  }
  const long changes = argc > 2 ? std::atol(argv[2]) : 200;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Draw draw(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  long runs = 0;
  for (const auto& file : files) {
    const Bytes whole = read(file);
    LLVMFuzzerTestOneInput(whole.data(), whole.size());
    Bytes bytes = whole;
    for (long i = 0; i < changes; ++i, ++runs) {
      if (i % 8 == 0) bytes = whole;
      change(bytes, draw);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  std::printf("%zu files, %ld changes\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
