#include "server/signals.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace znni {
namespace {

using namespace std::chrono_literals;

TEST(Signals, AreWaitedFor) {
  const TerminationSignals signals;
  EXPECT_EQ(signals.wait_for(0ms), std::nullopt);
  pthread_kill(pthread_self(), SIGTERM);
  EXPECT_EQ(signals.wait(), SIGTERM);
  pthread_kill(pthread_self(), SIGINT);
  EXPECT_EQ(signals.wait_for(60'000ms), SIGINT);
  EXPECT_EQ(signals.wait_for(1ms), std::nullopt);
}

TEST(Signals, ABrokenPipeIsNone) {
  const TerminationSignals signals;
  pthread_kill(pthread_self(), SIGPIPE);
  EXPECT_EQ(signals.wait_for(1ms), std::nullopt);
  // Taken off before the mask is restored.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  int signal = 0;
  EXPECT_EQ(sigwait(&pipe, &signal), 0);
}

TEST(Signals, TheMaskIsRestored) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  { const TerminationSignals signals; }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

// Ends, by a second signal, a process whose main thread never goes on.
void end_by_second_signal() {
  const TerminationSignals signals;
  SecondSignal second(signals);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.wait(), SIGTERM);
  second.watch();
  kill(getpid(), SIGINT);
  for (;;) pause();
}

TEST(SignalsDeathTest, ASecondOneEndsTheProcessWhateverItWaitsFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_by_second_signal(), testing::ExitedWithCode(128 + SIGINT), "");
}

// Ends after as many signals as are passed over do not end it.
void end_by_signal_after_those_passed() {
  const TerminationSignals signals;
  SecondSignal second(signals);
  second.watch(1);
  kill(getpid(), SIGTERM);
  sigset_t pending;
  do {
    std::this_thread::sleep_for(1ms);
    sigpending(&pending);
  } while (sigismember(&pending, SIGTERM) == 1);
  kill(getpid(), SIGINT);
  for (;;) pause();
}

TEST(SignalsDeathTest, TheFirstIsPassedWhereTheEndBeganWithoutOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_by_signal_after_those_passed(), testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(Signals, WithoutASecondOneTheWatchEnds) {
  const TerminationSignals signals;
  SecondSignal second(signals);
  second.watch();
}

TEST(Signals, AStopIsAskedForWhenOneComes) {
  const TerminationSignals signals;
  std::optional<int> signal;
  {
    const StopAtSignal stop(signals, signal);
    const std::stop_token token = stop.token();
    kill(getpid(), SIGTERM);
    while (!token.stop_requested()) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(signal, SIGTERM);
}

TEST(Signals, OneThatCameBeforeStopsAtOnce) {
  const TerminationSignals signals;
  std::optional<int> signal = SIGINT;
  const StopAtSignal stop(signals, signal);
  while (!stop.token().stop_requested()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(signal, SIGINT);
}

TEST(Signals, WithoutOneNoStopIsAskedFor) {
  const TerminationSignals signals;
  std::optional<int> signal;
  std::stop_token token;
  {
    const StopAtSignal stop(signals, signal);
    token = stop.token();
  }
  EXPECT_FALSE(signal);
  EXPECT_FALSE(token.stop_requested());
}

}  // namespace
}  // namespace znni
