// A relay's server with the writers of a series on its node. The test is the readers, which say and hear single frames.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "relay/server.hpp"
#include "series/hold.hpp"
#include "unit/relay/fixture.hpp"

namespace couplet::relay::testing_fixture {

inline constexpr channel::PeerId reader_peer = 1;

class RelayServer : public series::testing_fixture::Series, public ServerHost {
 protected:
  void SetUp() override { start({}); }
  void start(ServerOptions options) {
    options.watch = false;
    connections_.clear();
    server_ = std::move(Server::open(*this, options)).value();
    dispatch_ = std::make_unique<Dispatch>(server_.get(), nullptr);
  }
  void TearDown() override { connections_.clear(); }

  [[nodiscard]] const std::string& node_directory() const override { return world.directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("peer {}", peer); }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    return relay_environment_.alive(peer, incarnation);
  }
  [[nodiscard]] bool hub_is_away() const override { return hub_is_away_; }

  Connection& connect() {
    connections_.push_back(std::make_unique<Connection>(reader_peer, "peer 1", *dispatch_));
    return *connections_.back();
  }
  void settle() {
    int work = 1;
    while (work > 0) {
      work = server_->poll(64);
      for (const auto& connection : connections_) {
        work += connection->poll();
      }
    }
  }
  wire::Subscribe subscribe_of(series::Mode mode = series::Mode::follow) {
    wire::Subscribe wanted;
    wanted.mode = static_cast<std::uint8_t>(mode);
    wanted.window = 4;
    wanted.fields = {{0, {0, 0}, {rows, columns}}};
    wanted.file = world.series_files().front();
    wanted.series = "eta";
    return wanted;
  }
  std::vector<Recorder::Frame> ask(Connection& connection, std::uint32_t number, const wire::Subscribe& wanted) {
    connection.say(RelayKind::subscribe, number, 0, 0, 0, wire::encode_subscribe(wanted));
    settle();
    return connection.take();
  }
  std::string refusal(const wire::Subscribe& wanted, Code code) {
    const auto frames = ask(connect(), 1, wanted);
    EXPECT_EQ(frames.size(), 1U);
    EXPECT_EQ(Connection::kind_of(frames.at(0)), RelayKind::refused);
    EXPECT_EQ(static_cast<Code>(frames.at(0).header.tag), code) << frames.at(0).payload;
    EXPECT_EQ(server_->subscriptions(), 0U);
    return frames.at(0).payload;
  }
  int holders() {
    const auto file =
        std::move(series::SeriesFile::open(world.directory() + "/" + world.series_files().front())).value();
    int count = 0;
    for (std::uint32_t index = 0; index < file->reader_entries(); ++index) {
      count += series::owner_of(file->readers()[index]).state == wire::ReaderState::holding ? 1 : 0;
    }
    return count;
  }

  FakeEnvironment relay_environment_{world, relay_peer, "relay"};
  bool hub_is_away_ = false;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Dispatch> dispatch_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace couplet::relay::testing_fixture
