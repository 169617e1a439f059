// Outputs that do not fit on their disk, or whose file is in use or damaged.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "client/cli/infer.hpp"
#include "client/cli/resume.hpp"
#include "primitives/core/file_handle.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"

namespace znni::client {
namespace {

TEST(InferDisk, WithoutRoomNothingIsBegun) {
  const Scratch scratch;
  const FakeDaemon daemon;
  const SpaceOf little = [](const std::string&) { return DiskSpace{1 << 20, 7 * 4 * 6 * 4 - 1}; };
  for (const bool dry : {false, true}) {
    Options options = options_for(daemon, scratch, "out.npy");
    options.dry_run = dry;
    const auto outcome = run_infer(options, {}, little);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(exit_code(outcome.error()), 2);
    EXPECT_EQ(outcome.error().message,
              options.output +
                  ": needs 672 bytes (672 B), and 671 (671 B) are free on its file system: make room, or "
                  "write elsewhere or as another --dtype");
  }
  EXPECT_EQ(daemon.streams(), 0);
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out.npy.partial")));
}

TEST(InferDisk, OneThatGoesOnNeedsRoomForTheRestAlone) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.npy");
  ASSERT_FALSE(run_infer(options, {}));
  options.resume = true;
  const FakeDaemon daemon;
  options.server = daemon.address();
  const auto free = [](std::int64_t bytes) {
    return [bytes](const std::string&) { return DiskSpace{1 << 20, bytes}; };
  };
  EXPECT_FALSE(run_infer(options, {}, free(4 * 4 * 6 * 4 - 1)));
  EXPECT_TRUE(run_infer(options, {}, free(4 * 4 * 6 * 4)));  // three of seven planes are there
}

// Makes writes beyond `bytes` of a file fail, like a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST(InferDisk, AFullDiskIsToldAndLeavesNothing) {
  const Scratch scratch;
  const FakeDaemon daemon;
  for (const std::string name : {"out.npy", "out.tif", "out.h5:/prob", "compressed.h5:/prob"}) {
    for (const rlim_t bytes : {0, 150, 400}) {
      Options options = options_for(daemon, scratch, name);
      options.compress = name.starts_with("compressed");
      const auto outcome = [&] {
        const FileSizeLimit limit(bytes);
        return run_infer(options, {});
      }();
      ASSERT_FALSE(outcome) << name << " " << bytes;
      EXPECT_NE(outcome.error().message.find(std::strerror(EFBIG)), std::string::npos) << outcome.error().message;
      EXPECT_EQ(exit_code(outcome.error()), 1);
      for (const auto& left : std::filesystem::directory_iterator(scratch.file("."))) {
        EXPECT_EQ(left.path().filename(), "in.npy") << name << " " << bytes;
      }
    }
  }
}

// The other datasets of the file stay.
TEST(InferDisk, AnOutputGivenUpIsTakenOutOfItsFile) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::skips_bytes);
  const Options options = options_for(daemon, scratch, "out.h5:/prob");
  const FileName other{scratch.file("out.h5"), "/other"};
  write_volume(other, input_facts);
  ASSERT_FALSE(run_infer(options, {}));
  EXPECT_FALSE(output_exists(partial_name(parse_file_name(options.output))));
  expect_volume(other, input_facts);
}

// What is told is to start over, and not to go on as well.
TEST(InferDisk, APartialOutputThatLacksWhatItsRecordCountsIsNotGoneOnWith) {
  const Scratch scratch;
  const FakeDaemon dying(Behaviour::dies_in_the_middle);
  Options options = options_for(dying, scratch, "out.h5:/prob");
  options.compress = true;
  ASSERT_FALSE(run_infer(options, {}));
  const FileName output = parse_file_name(options.output);
  ResumeState state = **read_resume(output);
  ASSERT_EQ(state.planes_done, 3);
  state.planes_done = state.planes;
  ASSERT_TRUE(write_resume(output, state));
  options.resume = true;
  const auto outcome = run_infer(options, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::corrupt_file);
  EXPECT_NE(outcome.error().message.find("lacks voxels"), std::string::npos) << outcome.error().message;
  EXPECT_TRUE(outcome.error().message.ends_with("start over with --overwrite")) << outcome.error().message;
}

// Another program has the output's file open, as a second job would.
TEST(InferDisk, AnOutputFileInUseIsRefusedInWords) {
  const Scratch scratch;
  const FakeDaemon daemon;
  Options options = options_for(daemon, scratch, "out.h5:/second");
  write_volume({scratch.file("out.h5"), "/first"}, input_facts);
  for (const int lock : {LOCK_EX, LOCK_SH}) {  // the other program writes, reads
    const FileHandle other(::open(scratch.file("out.h5").c_str(), O_RDWR));
    ASSERT_EQ(::flock(other.get(), lock), 0);
    for (const bool overwrite : {false, true}) {
      options.overwrite = overwrite;
      const auto outcome = run_infer(options, {});
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().message,
                scratch.file("out.h5") +
                    ": is in use: another program has it open: wait until that has ended, or name another file");
      EXPECT_EQ(exit_code(outcome.error()), 1);
    }
  }
  options.overwrite = false;
  EXPECT_TRUE(run_infer(options, {}));
}

}  // namespace
}  // namespace znni::client
