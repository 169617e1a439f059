#include "server/line_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using namespace std::chrono_literals;

// Two ends, of which the second is written.
struct Ends {
  explicit Ends(bool socket) {
    const int made =
        socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) : pipe2(ends.data(), O_CLOEXEC);
    EXPECT_EQ(made, 0);
  }
  ~Ends() {
    close_reader();
    close(ends[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  void close_reader() {
    if (ends[0] >= 0) close(std::exchange(ends[0], -1));
  }
  std::string read_all() {
    std::string text;
    std::array<char, 1000> part{};
    for (ssize_t count = 1; count > 0;) {
      count = read(ends[0], part.data(), part.size());
      text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    }
    return text;
  }
  void close_written() { close(std::exchange(ends[1], -1)); }
  std::array<int, 2> ends{};
};

class LineWriterOf : public testing::TestWithParam<bool> {
 protected:
  Ends ends_{GetParam()};
};

// A reader that is there, however late, gets all of a line that is larger than any pipe.
TEST_P(LineWriterOf, WritesWholeLinesToASlowReader) {
  const std::string line(3'000'000, 'x');
  std::jthread writer([&] {
    LineWriter lines(ends_.ends[1], 0ms);
    EXPECT_TRUE(lines.write(line));
    EXPECT_TRUE(lines.write("end"));
    ends_.close_written();
  });
  EXPECT_EQ(ends_.read_all(), line + "\nend\n");
}

// Were it to wait for the reader, it would wait for ever.
TEST_P(LineWriterOf, GivesUpAfterHurry) {
  LineWriter lines(ends_.ends[1], 0ms);
  lines.hurry();
  EXPECT_FALSE(lines.write(std::string(50'000'000, 'x')));
  EXPECT_FALSE(lines.write("more"));
}

TEST_P(LineWriterOf, HurryFreesAThreadThatWaits) {
  LineWriter lines(ends_.ends[1], 1ms);
  std::jthread writer([&] { EXPECT_FALSE(lines.write(std::string(50'000'000, 'x'))); });
  lines.hurry();
}

TEST_P(LineWriterOf, LeavesTheSharedDescriptorBlocking) {
  const int before = fcntl(ends_.ends[1], F_GETFL);
  LineWriter lines(ends_.ends[1], 0ms);
  EXPECT_TRUE(lines.write("line"));
  EXPECT_EQ(fcntl(ends_.ends[1], F_GETFL), before);
}

TEST_P(LineWriterOf, AReaderThatLeftIsAnError) {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);  // as in the daemon
  LineWriter lines(ends_.ends[1], 0ms);
  ends_.close_reader();
  EXPECT_FALSE(lines.write("line"));
}

INSTANTIATE_TEST_SUITE_P(Descriptors, LineWriterOf, testing::Bool());  // a pipe, a socket

TEST(LineWriter, AppendsToAFile) {
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "log").string();
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  LineWriter lines(file, 0ms);
  lines.hurry();
  EXPECT_TRUE(lines.write("one"));
  EXPECT_TRUE(lines.write("two"));
  std::array<char, 16> text{};
  EXPECT_EQ(pread(file, text.data(), text.size(), 0), 8);
  EXPECT_STREQ(text.data(), "one\ntwo\n");
  close(file);
}

TEST(LineWriter, AClosedDescriptorIsAnError) {
  LineWriter lines(-1, 0ms);
  EXPECT_FALSE(lines.write("line"));
}

}  // namespace
}  // namespace znni
