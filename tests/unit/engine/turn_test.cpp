// Threads that take turns, and close what other threads are inside. Fault: the handle was freed while another thread's
// call waited in it, and the process died of it. tests/languages/test_closing.py does the same with real handles.
#include "engine/turn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "engine/engine.hpp"
#include "os/clock.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::engine {
namespace {

std::string nothing() {
  return "nothing";
}

class TurnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = os::Doorbell::open(directory_ / "bell", flag_);
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    doorbell_ = std::move(*opened);
    engine_ = std::make_unique<Engine>(*doorbell_, Patience{});
    turn_.serialise();
    ASSERT_TRUE(engine_->set_turn(turn_).ok());
  }

  // One call, as the C interface makes it.
  Status in_turn(std::span<const Held> handles, const std::function<Status()>& body) {
    Call call{.handles = handles};
    COUPLET_TRY(turn_.begin(&call));
    Status status = body();
    turn_.end();
    return status;
  }
  // A call that waits until `over`; `inside` becomes true when it waits.
  Status wait_inside(const void* handle, std::atomic<bool>& inside, const std::atomic<bool>& over,
                     bool interruptible = true, Use use = Use::uses) {
    const Held held{handle, use};
    return in_turn({&held, 1}, [&] {
      const auto done = [&] {
        inside = true;
        return over.load();
      };
      return engine_->wait(done, os::never, nothing, nullptr, interruptible);
    });
  }
  // A call that closes, or completes, a handle.
  Status free_handle(const void* handle, Use use, std::uint64_t until_ns = os::never) {
    const Held held{handle, use};
    return in_turn({&held, 1}, [&] { return turn_.end_others(until_ns); });
  }
  static void until(const std::atomic<bool>& state) {
    while (!state) std::this_thread::yield();
  }

  test::TemporaryDirectory directory_;
  os::SleepFlag flag_;
  std::unique_ptr<os::Doorbell> doorbell_;
  Turn turn_;
  std::unique_ptr<Engine> engine_;
  int one_ = 0;  // stand for handles
  int other_ = 0;
  std::atomic<bool> never_over_{false};
};

TEST_F(TurnTest, ClosingEndsTheWaitsInTheHandleAndNoOthers) {
  std::array<std::atomic<bool>, 3> inside{};
  std::atomic<bool> other_over{false};
  std::array<Status, 3> statuses;
  std::thread first([&] { statuses[0] = wait_inside(&one_, inside[0], never_over_); });
  std::thread second([&] { statuses[1] = wait_inside(&one_, inside[1], never_over_); });
  std::thread other([&] { statuses[2] = wait_inside(&other_, inside[2], other_over); });
  for (const auto& each : inside) until(each);
  EXPECT_TRUE(free_handle(&one_, Use::closes).ok());
  first.join();
  second.join();
  for (const std::size_t ended : {0U, 1U}) {
    EXPECT_EQ(statuses[ended].code(), Code::state);
    EXPECT_NE(statuses[ended].text().find("was closed by another thread"), std::string::npos);
  }
  other_over = true;
  other.join();
  EXPECT_TRUE(statuses[2].ok()) << statuses[2].text();
}

TEST_F(TurnTest, AHandleIsNotClosedWhileACallThatCannotStopIsInside) {
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
  Status status = Code::internal;
  std::thread waiting([&] { status = wait_inside(&one_, inside, over, false); });
  until(inside);
  EXPECT_EQ(free_handle(&one_, Use::closes, os::now_ns() + 10'000'000).code(), Code::state);
  over = true;
  waiting.join();
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_TRUE(free_handle(&one_, Use::closes).ok());
}

TEST_F(TurnTest, NoCallBeginsOnAHandleThatIsBeingClosed) {
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
  Status closed = Code::internal;
  std::thread closing([&] { closed = wait_inside(&one_, inside, over, false, Use::closes); });
  until(inside);
  const Held held{&one_, Use::uses};
  const Status status = in_turn({&held, 1}, [] { return Status(); });
  EXPECT_EQ(status.code(), Code::state);
  EXPECT_EQ(free_handle(&one_, Use::closes).code(), Code::state);
  over = true;
  closing.join();
  EXPECT_TRUE(closed.ok()) << closed.text();
}

TEST_F(TurnTest, ACallThatStillWaitsForItsFirstTurnIsInside) {
  const Held closes{&one_, Use::closes};
  const Held uses{&one_, Use::uses};
  Call closing{.handles = {&closes, 1}};
  ASSERT_TRUE(turn_.begin().ok());  // so that both calls have to wait
  bool used = false;
  Status status;
  std::thread using_it([&] {
    status = in_turn({&uses, 1}, [&] {
      used = true;
      return Status();
    });
  });
  while (!turn_.wanted()) std::this_thread::yield();
  Status closed = Code::internal;
  std::thread closing_it([&] {
    closed = turn_.begin(&closing);
    if (closed.ok()) {
      closed = turn_.end_others(os::never);
      turn_.end();
    }
  });
  turn_.end();
  using_it.join();
  closing_it.join();
  EXPECT_TRUE(closed.ok()) << closed.text();
  EXPECT_TRUE(used ? status.ok() : status.code() == Code::state) << status.text();
}

TEST_F(TurnTest, OneCallAtATimeCompletesARequestAndEndsThoseThatOnlyWatchIt) {
  std::atomic<bool> watches{false};
  Status watched;
  std::thread watching([&] { watched = wait_inside(&one_, watches, never_over_); });
  until(watches);
  std::atomic<bool> completes{false};
  std::atomic<bool> over{false};
  Status completed = Code::internal;
  std::thread completing([&] {
    const Held held{&one_, Use::completes};
    completed = in_turn({&held, 1}, [&] {
      COUPLET_TRY(turn_.end_others(os::never));
      const auto done = [&] {
        completes = true;
        return over.load();
      };
      return engine_->wait(done, os::never, nothing, nullptr, true);
    });
  });
  watching.join();
  EXPECT_EQ(watched.code(), Code::state);
  until(completes);
  EXPECT_EQ(free_handle(&one_, Use::completes).code(), Code::state);
  const Held held{&one_, Use::uses};
  EXPECT_EQ(in_turn({&held, 1}, [] { return Status(); }).code(), Code::state);
  over = true;
  completing.join();
  EXPECT_TRUE(completed.ok()) << completed.text();
}

}  // namespace
}  // namespace couplet::engine
