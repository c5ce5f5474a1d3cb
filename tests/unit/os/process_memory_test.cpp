// Another process's memory is read and written only while it is the intended process.
#include "os/process_memory.hpp"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "os/wiped_page.hpp"
#include "support/child.hpp"

namespace couplet::os {
namespace {

constexpr std::size_t data_bytes = (3U << 20U) + 17;

// What the proof says of itself. If not, only the bytes tell which process it is.
bool proof_survives_fork = true;
// They are at the same addresses in every process that this test forks.
MemoryProof own_proof;
std::vector<unsigned char> data(data_bytes);  // NOLINT: an address that is known before the fork

MemoryProof proof_of(std::uint8_t seed) {
  MemoryProof proof;
  proof.address = reinterpret_cast<std::uintptr_t>(own_proof.bytes.data());
  std::fill(proof.bytes.begin(), proof.bytes.end(), seed);
  proof.survives_fork = proof_survives_fork;
  return proof;
}

[[noreturn]] void live(std::uint8_t seed, unsigned char value, int ready) {
  ::alarm(120);
  own_proof.bytes.fill(seed);
  std::fill(data.begin(), data.end(), value);
  static_cast<void>(!::write(ready, "y", 1));
  for (;;) {
    ::pause();
  }
}

// Forks a process with that number, as soon as it is free. Returns -1 if the system does not let this process choose
// numbers.
pid_t fork_as(pid_t wanted) {
  if (wanted == 0) {
    return ::fork();
  }
  pid_t number = wanted;
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&number);
  arguments.set_tid_size = 1;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

class ProcessMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    proof_survives_fork = true;
    end();
  }
  // Starts a process with this proof and these data.
  bool start(std::uint8_t seed, unsigned char value, pid_t wanted = 0) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = fork_as(wanted);
    if (process_ == 0) {
      live(seed, value, ready[1]);
    }
    const int error = errno;
    char letter = 0;
    const bool started = process_ > 0 && ::read(ready[0], &letter, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    if (!started) {
      errno = error;
    }
    return started;
  }
  void end() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
      process_ = -1;
    }
  }
  [[nodiscard]] Result<std::unique_ptr<ProcessMemory>> open(std::uint8_t seed) const {
    return ProcessMemory::open(static_cast<std::uint32_t>(process_), proof_of(seed));
  }
  [[nodiscard]] static std::uint64_t address() { return reinterpret_cast<std::uintptr_t>(data.data()); }

  pid_t process_ = -1;
};

TEST_F(ProcessMemoryTest, ReadsAndWritesTheProcessThatIsMeant) {
  ASSERT_TRUE(start(1, 7));
  auto memory = open(1);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  std::vector<unsigned char> copy(data_bytes);
  const auto status = (*memory)->read(address(), copy.data(), data_bytes);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(std::count(copy.begin(), copy.end(), 7), static_cast<std::ptrdiff_t>(data_bytes));

  const std::array<ProcessRun, 2> runs = {{{address(), 3}, {address() + 100, 2}}};
  const std::array<unsigned char, 5> some = {1, 2, 3, 4, 5};
  ASSERT_TRUE((*memory)->write(runs, some.data()).ok());
  std::array<unsigned char, 5> back{};
  ASSERT_TRUE((*memory)->read(runs, back.data()).ok());
  EXPECT_EQ(back, some);
  EXPECT_EQ((*memory)->read(4096, copy.data(), 10).code(), Code::protocol);
  EXPECT_TRUE((*memory)->read(0, copy.data(), 0).ok());
  EXPECT_TRUE((*memory)->check().ok());
  std::fill(copy.begin(), copy.end(), 0);
  ASSERT_TRUE((*memory)->read_unchecked(address() + 200, copy.data(), 1000).ok());
  EXPECT_EQ(std::count(copy.begin(), copy.end(), 7), 1000);
  ASSERT_TRUE((*memory)->write_unchecked(address(), some.data(), some.size()).ok());
  ASSERT_TRUE((*memory)->read_unchecked(address(), copy.data(), some.size()).ok());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), copy.begin()));
  EXPECT_EQ((*memory)->read_unchecked(4096, copy.data(), 10).code(), Code::protocol);
  EXPECT_EQ((*memory)->write_unchecked(4096, copy.data(), 10).code(), Code::protocol);
}

TEST_F(ProcessMemoryTest, AProcessWithoutTheProofIsAnotherOne) {
  ASSERT_TRUE(start(1, 7));
  EXPECT_EQ(open(2).code(), Code::unsupported);
}

TEST_F(ProcessMemoryTest, AProcessThatHasEndedIsLost) {
  ASSERT_TRUE(start(1, 7));
  auto memory = open(1);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  end();
  std::vector<unsigned char> copy(data_bytes);
  EXPECT_EQ((*memory)->read(address(), copy.data(), data_bytes).code(), Code::peer_lost);
  EXPECT_EQ((*memory)->check().code(), Code::peer_lost);
}

class ProcessNumberUsedAgain : public ProcessMemoryTest {
 protected:
  // Opens the memory of a process whose number then belongs to another one, with that proof and other data.
  std::unique_ptr<ProcessMemory> reuse(std::uint8_t new_seed) {
    EXPECT_TRUE(start(1, 7));
    auto memory = open(1);
    EXPECT_TRUE(memory.ok()) << memory.status().text();
    const pid_t number = process_;
    end();
    const bool started = test::eventually([&] { return start(new_seed, 9, number) || errno != EEXIST; });
    if (!started || process_ != number) {
      return nullptr;
    }
    return memory.ok() ? std::move(*memory) : nullptr;
  }
};

// The memory of the other process was delivered as if it were a message. Messages read with a proof that does not
// survive a fork: it alone, which is read together with the data, tells that it is another process.
TEST_F(ProcessNumberUsedAgain, IsNotRead) {
  for (const bool survives_fork : {true, false}) {
    proof_survives_fork = survives_fork;
    const auto memory = reuse(2);
    if (memory == nullptr) {
      GTEST_SKIP() << "the number of a process may not be chosen here (CAP_SYS_ADMIN)";
    }
    std::vector<unsigned char> copy(data_bytes);
    EXPECT_EQ(memory->read(address(), copy.data(), data_bytes).code(), Code::peer_lost) << survives_fork;
    EXPECT_EQ(memory->check().code(), Code::peer_lost) << survives_fork;
    const std::array<ProcessRun, 1> run = {{{address(), 10}}};
    EXPECT_EQ(memory->read(run, copy.data()).code(), Code::peer_lost) << survives_fork;
    end();
  }
}

TEST_F(ProcessMemoryTest, AForkedProcessHasNotTheProofOfAWipedPage) {
  const WipedPage page;
  ASSERT_NE(page.data(), nullptr);
  if (!page.is_wiped()) {
    GTEST_SKIP() << "this system cannot wipe a page in forked processes (Linux 4.14)";
  }
  MemoryProof proof{.address = reinterpret_cast<std::uintptr_t>(page.data()), .survives_fork = false};
  proof.bytes.fill(5);
  std::memcpy(page.data(), proof.bytes.data(), proof.size);
  const auto own = ProcessMemory::open(static_cast<std::uint32_t>(::getpid()), proof);
  ASSERT_TRUE(own.ok()) << own.status().text();
  std::array<unsigned char, 10> copy{};
  EXPECT_TRUE((*own)->read(address(), copy.data(), copy.size()).ok());
  ASSERT_TRUE(start(5, 7));
  EXPECT_EQ(ProcessMemory::open(static_cast<std::uint32_t>(process_), proof).code(), Code::unsupported);
}

TEST_F(ProcessNumberUsedAgain, IsNotWrittenTo) {
  const auto memory = reuse(2);
  if (memory == nullptr) {
    GTEST_SKIP() << "the number of a process may not be chosen here (CAP_SYS_ADMIN)";
  }
  const std::array<ProcessRun, 1> run = {{{address(), 1}}};
  const unsigned char value = 77;
  EXPECT_EQ(memory->write(run, &value).code(), Code::peer_lost);
  const auto other = open(2);
  ASSERT_TRUE(other.ok()) << other.status().text();
  unsigned char seen = 0;
  ASSERT_TRUE((*other)->read(run, &seen).ok());
  EXPECT_EQ(seen, 9);
}

// A relative of the old process may have a copy of its memory, including the proof. Only the handle tells them apart.
TEST_F(ProcessNumberUsedAgain, IsFoundByTheHandleToo) {
  const auto memory = reuse(1);
  if (memory == nullptr) {
    GTEST_SKIP() << "the number of a process may not be chosen here (CAP_SYS_ADMIN)";
  }
  std::vector<unsigned char> copy(data_bytes);
  EXPECT_EQ(memory->read(address(), copy.data(), data_bytes).code(), Code::peer_lost);
}

}  // namespace
}  // namespace couplet::os
