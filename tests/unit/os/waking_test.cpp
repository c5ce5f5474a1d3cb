#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "os/clock.hpp"
#include "os/doorbell.hpp"
#include "os/fork.hpp"
#include "os/futex.hpp"
#include "os/host.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::os {
namespace {

using test::Child;
using test::eventually;
using test::TemporaryDirectory;

constexpr std::uint64_t watchdog_ns = 60'000'000'000;

// Memory that forked children share.
template <typename T>
struct SharedMemory {
  SharedMemory() : memory(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    new (memory) T;
  }
  ~SharedMemory() { ::munmap(memory, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  T& operator*() const { return *static_cast<T*>(memory); }
  T* operator->() const { return static_cast<T*>(memory); }
  void* memory;
};

TEST(Futex, WaitsWakesAndTimesOut) {
  std::atomic<std::uint32_t> word{1};
  EXPECT_EQ(futex_wait(word, 0, never), FutexWait::changed);
  EXPECT_EQ(futex_wait(word, 1, 1'000'000), FutexWait::timed_out);
  EXPECT_EQ(futex_wake(word), 0);
  std::thread sleeper([&] {
    while (word.load() == 1) {
      static_cast<void>(futex_wait(word, 1, never));
    }
  });
  EXPECT_TRUE(eventually([&] {
    word = 1;
    return futex_wake(word) == 1;  // a process was asleep
  }));
  word = 2;
  futex_wake(word);
  sleeper.join();
}

TEST(Futex, WakesAnotherProcessThroughAReadOnlyMapping) {
  const TemporaryDirectory directory;
  const int file = ::open((directory / "word").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, 4096), 0);
  void* const writable = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const readable = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_TRUE(writable != MAP_FAILED && readable != MAP_FAILED);
  ::close(file);
  auto& word = *static_cast<std::atomic<std::uint32_t>*>(writable);
  const auto& seen = *static_cast<const std::atomic<std::uint32_t>*>(readable);
  Child child([&] {
    while (seen.load() == 0) {
      static_cast<void>(futex_wait(seen, 0, never));
    }
    return 5;
  });
  EXPECT_TRUE(eventually([&] { return futex_wake(word) == 1; }));
  word = 1;
  futex_wake(word);
  EXPECT_EQ(child.join(), 5);
  ::munmap(writable, 4096);
  ::munmap(readable, 4096);
}

TEST(Doorbell, SleepsUntilRungAndNotLonger) {
  const TemporaryDirectory directory;
  SleepFlag flag;
  auto doorbell = Doorbell::open(directory / "bell", flag);
  ASSERT_TRUE(doorbell.ok()) << doorbell.status().text();
  Bell bell(directory / "bell", flag);
  bell.ring_if_asleep();
  int ready[4];
  EXPECT_EQ((*doorbell)->sleep_for(0, ready, 4), 0);
  (*doorbell)->raise_flag();
  EXPECT_EQ(flag.sleeping.load(), 1U);
  bell.ring_if_asleep();
  EXPECT_EQ(flag.sleeping.load(), 0U) << "who rings takes the flag down";
  const std::uint64_t before = now_ns();
  EXPECT_EQ((*doorbell)->sleep_for(watchdog_ns, ready, 4), 0);
  EXPECT_LT(now_ns() - before, watchdog_ns / 2);
  EXPECT_EQ(Doorbell::open(directory / "bell", flag).code(), Code::exists);
  doorbell->reset();
  EXPECT_NE(::access((directory / "bell").c_str(), F_OK), 0);
}

TEST(Doorbell, AVeryLongPathWorks) {
  const TemporaryDirectory directory;
  const std::string folder = directory / std::string(120, 'd');
  ASSERT_TRUE(make_private_directory(folder).ok());
  SleepFlag flag;
  auto doorbell = Doorbell::open(folder + "/bell-00000001", flag);
  ASSERT_TRUE(doorbell.ok()) << doorbell.status().text();
  (*doorbell)->raise_flag();
  Bell(folder + "/bell-00000001", flag).ring_if_asleep();
  int ready[4];
  const std::uint64_t before = now_ns();
  EXPECT_EQ((*doorbell)->sleep_for(watchdog_ns, ready, 4), 0);
  EXPECT_LT(now_ns() - before, watchdog_ns / 2);
}

TEST(Doorbell, NobodyAtHomeIsNoError) {
  const TemporaryDirectory directory;
  SleepFlag flag;
  flag.sleeping = 1;
  Bell bell(directory / "nobody", flag);
  bell.ring_if_asleep();
  EXPECT_EQ(flag.sleeping.load(), 0U);
}

TEST(Doorbell, ABellFindsTheSuccessorOfASleeper) {
  const TemporaryDirectory directory;
  SleepFlag flag;
  Bell bell(directory / "bell", flag);
  for (int incarnation = 0; incarnation < 3; ++incarnation) {
    auto doorbell = Doorbell::open(directory / "bell", flag);
    ASSERT_TRUE(doorbell.ok());
    (*doorbell)->raise_flag();
    bell.ring_if_asleep();
    int ready[4];
    const std::uint64_t before = now_ns();
    EXPECT_EQ((*doorbell)->sleep_for(watchdog_ns, ready, 4), 0);
    EXPECT_LT(now_ns() - before, watchdog_ns / 2);
  }
}

// Two processes that wake each other in turn, with sleeps that do not end by themselves. One lost wake-up ends in the
// watchdog.
TEST(Doorbell, ProcessesLoseNoWakeUp) {
  struct Side {
    SleepFlag flag;
    alignas(64) std::atomic<std::uint32_t> turn{0};
  };
  struct Both {
    Side sides[2];
  };
  constexpr std::uint32_t rounds = 30000;
  const TemporaryDirectory directory;
  const SharedMemory<Both> shared;
  auto play = [&](int own, Doorbell& doorbell) {
    Bell bell(directory / ("bell" + std::to_string(1 - own)), shared->sides[1 - own].flag);
    auto& mine = shared->sides[own].turn;
    auto& others = shared->sides[1 - own].turn;
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      if (own == 0) {
        others.store(round, std::memory_order_relaxed);
        bell.ring_if_asleep();
      }
      // Sometimes it is a little later, so that all moments of the race occur.
      for (std::uint32_t delay = 0; delay < (round * 7919U) % 64U; ++delay) {
        pause();
      }
      while (mine.load(std::memory_order_relaxed) != round) {
        doorbell.raise_flag();
        if (mine.load(std::memory_order_relaxed) == round) {
          doorbell.lower_flag();
          break;
        }
        const std::uint64_t before = now_ns();
        int ready[2];
        doorbell.sleep_for(watchdog_ns, ready, 2);
        if (now_ns() - before > watchdog_ns / 2) {
          return 1;
        }
      }
      if (own == 1) {
        others.store(round, std::memory_order_relaxed);
        bell.ring_if_asleep();
      }
    }
    return 0;
  };
  auto doorbell = Doorbell::open(directory / "bell0", shared->sides[0].flag);
  ASSERT_TRUE(doorbell.ok());
  Child child([&] {
    auto own = Doorbell::open(directory / "bell1", shared->sides[1].flag);
    return own.ok() ? play(1, **own) : 2;
  });
  EXPECT_EQ(play(0, **doorbell), 0);
  EXPECT_EQ(child.join(), 0);
}

TEST(Fork, AChildKnowsAndHasNoneOfOurDescriptors) {
  const TemporaryDirectory directory;
  SleepFlag flag;
  auto doorbell = Doorbell::open(directory / "bell", flag);
  ASSERT_TRUE(doorbell.ok());
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::uint64_t generation = fork_generation();
  const int answer = Child([&] {
                       if (fork_generation() != generation + 1 || null.mine()) {
                         return 1;
                       }
                       if (::fcntl(null.number(), F_GETFD) != -1) {
                         return 2;
                       }
                       // It must not remove what belongs to the parent.
                       doorbell->reset();
                       return 0;
                     }).join();
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(fork_generation(), generation);
  EXPECT_TRUE(null.mine());
  EXPECT_EQ(::access((directory / "bell").c_str(), F_OK), 0);
}

TEST(Host, SaysWhatItKnows) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_FALSE(boot_id().empty());
  EXPECT_GE(usable_cores(), 1);
  EXPECT_EQ(process_id(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_NE(*random_bits(), *random_bits());
}

}  // namespace
}  // namespace couplet::os
