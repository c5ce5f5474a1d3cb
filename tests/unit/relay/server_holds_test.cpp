// What a relay does with holds that an earlier one has left in the file.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "relay/server.hpp"
#include "series/hold.hpp"
#include "unit/relay/server_fixture.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::Connection;
using testing_fixture::RelayKind;
using testing_fixture::RelayServer;

// A relay that was killed has left the hold in the file.
TEST_F(RelayServer, AReaderThatHasClosedEndsItsHoldAtTheNextRelay) {
  const auto writer = create(4);
  const auto wanted = subscribe_of(series::Mode::hold);
  for (const bool evicted : {false, true}) {
    ask(connect(), 5, wanted);
    EXPECT_EQ(holders(), 1);
    connections_.back()->die();
    settle();
    start({});  // its own memory of the hold is gone, too
    EXPECT_EQ(holders(), 1);
    const auto file = std::move(series::SeriesFile::open(world.directory() + "/" + wanted.file)).value();
    auto& entry = file->readers()[0];
    if (evicted) {
      auto owner = series::owner_of(entry);
      owner.state = wire::ReaderState::evicted;
      entry.owner = series::pack(owner);
    }
    Connection& reader = connect();
    reader.say(RelayKind::unsubscribe, 4, 0, 0, 0, wire::encode_subscribe(wanted));
    settle();
    EXPECT_NE(entry.owner.load(), 0U);
    reader.say(RelayKind::unsubscribe, 5, 0, 0, 0, wire::encode_subscribe(wanted));
    settle();
    EXPECT_EQ(entry.owner.load(), 0U);
    const auto frames = reader.take();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::unsubscribed);
    EXPECT_EQ(frames[1].header.context, 5U);
  }
}

TEST_F(RelayServer, TheEndOfAHoldIsConfirmedIfNothingIsLeftOfIt) {
  const auto writer = create(4);
  auto wanted = subscribe_of(series::Mode::hold);
  Connection& reader = connect();
  ask(reader, 5, wanted);
  EXPECT_EQ(holders(), 1);
  reader.say(RelayKind::unsubscribe, 5, 0, 0, 0, wire::encode_subscribe(wanted));
  wanted.file = "series-that-is-gone";
  reader.say(RelayKind::unsubscribe, 6, 0, 0, 0, wire::encode_subscribe(wanted));
  settle();
  EXPECT_EQ(holders(), 0);
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::unsubscribed);
  EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::unsubscribed);
  const std::array<std::byte, 3> nonsense{};
  reader.say(RelayKind::unsubscribe, 7, 0, 0, 0, nonsense);
  settle();
  EXPECT_NE(reader.failure().find("3 bytes"), std::string::npos) << reader.failure();
}

// Fault: the relay confirmed the end of a hold in a file that it could not open, and the hold stayed.
TEST_F(RelayServer, TheEndOfAHoldIsNotConfirmedIfItsFileCannotBeOpened) {
  const auto writer = create(4);
  auto wanted = subscribe_of(series::Mode::hold);
  wanted.file = "no-series";
  std::ofstream(world.directory() + "/no-series") << "something else";
  Connection& reader = connect();
  reader.say(RelayKind::unsubscribe, 5, 0, 0, 0, wire::encode_subscribe(wanted));
  settle();
  EXPECT_TRUE(reader.take().empty());
  EXPECT_EQ(reader.failure(), "");
}

// While it lives, this process gets no further descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

// Fault: a relay without a descriptor for the file did not end the hold, then or later, and its writer waited for ever.
TEST_F(RelayServer, AHoldEndsOnceItsRelayHasADescriptorForTheFile) {
  const auto writer = create(4);
  const auto wanted = subscribe_of(series::Mode::hold);
  ask(connect(), 5, wanted);
  connections_.back()->die();
  settle();
  start({});
  Connection& reader = connect();
  {
    const NoDescriptors short_of_them;
    reader.say(RelayKind::unsubscribe, 5, 0, 0, 0, wire::encode_subscribe(wanted));
    settle();
    server_->tick();
    EXPECT_TRUE(reader.take().empty());
  }
  EXPECT_EQ(holders(), 1);
  server_->tick();
  settle();
  EXPECT_EQ(holders(), 0);
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::unsubscribed);
}

// Fault: a reader that continued with a hold was refused because the relay had no descriptor, and had to give up the
// hold.
TEST_F(RelayServer, AHolderGoesOnOnceItsRelayHasADescriptorForTheFile) {
  const auto writer = create(4);
  put(*writer, 0);
  put(*writer, 1);
  const auto new_one = subscribe_of();
  auto wanted = subscribe_of(series::Mode::hold);
  ask(connect(), 5, wanted);
  connections_.back()->die();
  settle();
  start({});
  Connection& reader = connect();
  Connection& other = connect();
  wanted.again = true;
  wanted.next = 1;
  wanted.window = 3;
  {
    const NoDescriptors short_of_them;
    EXPECT_TRUE(ask(reader, 5, wanted).empty());
    EXPECT_TRUE(ask(other, 6, wanted).empty());
    const auto refused = ask(other, 7, new_one);
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(Connection::kind_of(refused[0]), RelayKind::refused);
    EXPECT_NE(refused[0].payload.find("the relay: "), std::string::npos) << refused[0].payload;
    other.die();
    settle();
    server_->tick();
    EXPECT_TRUE(reader.take().empty());
  }
  server_->tick();
  settle();
  const auto frames = reader.take();
  ASSERT_GE(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  EXPECT_EQ(server_->subscriptions(), 1U);
  EXPECT_EQ(holders(), 1);
}

}  // namespace
}  // namespace couplet::relay
